import { nameConversation } from '../../domain/ids.ts';
import { PASS_LIMITS } from '../../domain/pass.ts';
import { contextSize } from '../../domain/size.ts';
import { START_VERSION, type Version } from '../../domain/version.ts';
import { hashSegments } from '../content-hash.ts';
import { writeUnderLease } from './lease-keeper.ts';
import type { ModelFailure } from './model-call.ts';
import type { RunningTurn } from './running-turn.ts';
import { hasWaitedForPass } from './step-waits.ts';

/** In `explained` of a version that replaced a refused one. A caller's rollback has another text. */
const VERSION_REFUSED = 'version_refused';

/** A request whose form the provider refused. */
export interface RefusedRequest {
  /** Key of its step. */
  readonly step: string;
  /** Version that was sent. */
  readonly version: number;
}

/**
 * Replaces a version that a pass made by its parent, because a provider refused the form of a request over it. The refused
 * segments are quarantined. Each further refusal goes one version up, until one that was answered or that no pass made. A
 * step that had waited for a pass may wait for another, because the parent is as large as before.
 * @returns false if no pass made the version's segments, or a request over them was answered: their form is not refused
 * @throws LostTurn
 */
export async function rollBackRefused(
  run: RunningTurn,
  { step, version: refused }: RefusedRequest,
  failure: ModelFailure,
): Promise<boolean> {
  const { ports, keeper, journal } = run;
  const { conversation } = keeper.lease;
  const shown = await findShown(run, await readVersion(run, refused));
  // No version newer than `answeredVersion` was ever answered, and older ones are reached through that version only.
  const { answeredVersion } = journal.conversation;
  const isAnswered = answeredVersion !== undefined && answeredVersion >= shown.number;
  if (shown.cause !== 'pass' || isAnswered) return false;
  const version = restoreVersion(run, refused, await readVersion(run, shown.parent));
  keeper.signal.throwIfAborted();
  // Before the rollback: a crash in between grants one wait too many. In the other order it would fail the turn.
  if (hasWaitedForPass(journal.waitsOf(step))) await journal.recordWait(step, 'rolled_back');
  const rollback = {
    expectedVersion: refused,
    shownVersion: shown.number,
    version,
    refusedSegments: hashSegments(shown.segments),
    keepVersions: PASS_LIMITS.keepVersions,
  };
  const result = await writeUnderLease({ ...ports, keeper }, 'rollback', () =>
    ports.turns.rollBackVersion(keeper.lease, rollback),
  );

  if (result.status === 'answered') return false;
  if (result.status === 'version_changed') {
    journal.adopt(await ports.contexts.readConversation(conversation));
    return true;
  }
  journal.adopt(result.conversation);
  ports.onEvent({
    type: 'version_refused',
    by: 'provider',
    ...nameConversation(conversation),
    turn: keeper.lease.turn,
    version: refused,
    codes: failure.code === undefined ? [] : [failure.code],
    message: failure.message,
    ...(failure.form === undefined ? {} : { form: failure.form }),
  });
  return true;
}

/** A version that is no longer kept counts as the full log, which no pass made. */
async function readVersion({ ports, keeper }: RunningTurn, number: number | null): Promise<Version> {
  const version = number === null ? undefined : await ports.contexts.readVersion(keeper.lease.conversation, number);
  return version ?? START_VERSION;
}

/** The version that a version's segments come from. A version that replaced a refused one has the segments of an older one. */
async function findShown(run: RunningTurn, version: Version): Promise<Version> {
  if (version.cause !== 'rollback' || !version.explained.includes(VERSION_REFUSED)) return version;
  const refused = await findShown(run, await readVersion(run, version.parent));
  return findShown(run, await readVersion(run, refused.parent));
}

/** A new version with the segments of `shown`, over the present log. */
function restoreVersion({ ports, journal, prepared }: RunningTurn, refused: number, shown: Version): Version {
  const { weight, baseTotal } = shown;
  const { size, head } = journal.conversation;
  const before = contextSize(size, prepared.overhead);
  const after = contextSize({ version: refused + 1, weight, baseTotal, headTotal: size.headTotal }, prepared.overhead);
  return {
    ...shown,
    number: refused + 1,
    parent: refused,
    cause: 'rollback',
    reasons: [],
    strategy: 'none',
    measuredAt: { head, ...after },
    tokensBefore: before.tokens,
    tokensAfter: after.tokens,
    archived: 0,
    explained: [VERSION_REFUSED],
    floorRelaxed: false,
    at: ports.clock.now(),
    durationMs: 0,
    model: null,
  };
}

import type { StepState } from '../../domain/conversation.ts';
import { PASS_LIMITS } from '../../domain/pass.ts';
import { contextSize } from '../../domain/size.ts';
import { START_VERSION, type Version, weighVersion } from '../../domain/version.ts';
import { hashSegments } from '../content-hash.ts';
import type { ModelFailure } from './model-call.ts';
import type { RunningTurn } from './running-turn.ts';
import { hasWaitedForPass } from './step-waits.ts';

/**
 * Marker in the field `explained` of a context version that replaced one whose form a provider refused. A rollback by a
 * caller has another marker.
 */
const VERSION_REFUSED = 'version_refused';

/** A request that the provider refused because of its form. */
export interface RefusedRequest {
  readonly step: string;
  /** Number of the context version that the request contains. */
  readonly version: number;
}

/** Checks that a pass or a rollback made a version, and that no request over it was answered yet. */
export function isUnanswered({ answeredVersion }: StepState, version: number): boolean {
  return version > START_VERSION.number && (answeredVersion === undefined || answeredVersion < version);
}

/**
 * After a provider refuses the form of a request, replaces the version in that request by its parent, if a compaction
 * pass made the version. The refused segments are quarantined. If the provider refuses the parent, the parent's parent
 * follows, until a version that was answered before or that no pass made. A step that has waited for a pass may wait
 * once more, because the parent is as large as the context was before that pass.
 * @returns false if no pass made the version's segments, or if a request with them was answered before: then their form
 * is not at fault
 * @throws LostTurn if the turn's lease was lost
 */
export async function rollBackRefused(
  run: RunningTurn,
  { step, version: refused }: RefusedRequest,
  failure: ModelFailure,
): Promise<boolean> {
  const { ports, ending, journal } = run;
  const { conversation } = ending.lease;
  const shown = await findShown(run, await readVersion(run, refused));
  // No request over a context version newer than `answeredVersion` was ever answered. The search for a replacement
  // passes `answeredVersion` before any older version.
  const { answeredVersion } = journal.conversation;
  const isAnswered = answeredVersion !== undefined && answeredVersion >= shown.number;
  if (shown.cause !== 'pass' || isAnswered) return false;
  const version = restoreVersion(run, refused, await readVersion(run, shown.parent));
  ending.signal.throwIfAborted();
  // The additional wait is recorded before the rollback. A crash between the two writes then leaves the step one wait
  // too many. In the other order, a crash would make the turn fail.
  if (hasWaitedForPass(journal.waitsOf(step))) await journal.recordWait(step, 'rolled_back');
  const rollback = {
    expectedVersion: refused,
    shownVersion: shown.number,
    version,
    refusedSegments: hashSegments(shown.segments),
    keepVersions: PASS_LIMITS.keepVersions,
  };
  const result = await ending.write('rollback', () => ports.turns.rollBackVersion(ending.lease, rollback));

  if (result.status === 'answered') return false;
  if (result.status === 'version_changed') {
    journal.adopt(await ports.contexts.readConversation(conversation));
    return true;
  }
  journal.adopt(result.conversation);
  ports.onEvent({
    type: 'version_refused',
    by: 'provider',
    ...ending.scope,
    version: refused,
    codes: failure.code === undefined ? [] : [failure.code],
    message: failure.message,
    ...(failure.form === undefined ? {} : { form: failure.form }),
  });
  return true;
}

/** Reads a version of the context. If the store no longer keeps it, the full log is returned, which no pass made. */
async function readVersion({ ports, ending }: RunningTurn, number: number | null): Promise<Version> {
  const version = number === null ? undefined : await ports.contexts.readVersion(ending.lease.conversation, number);
  return version ?? START_VERSION;
}

/**
 * Finds the context version from which a version copied its segments. A version that replaced a refused one has the
 * segments of an older version.
 */
async function findShown(run: RunningTurn, version: Version): Promise<Version> {
  if (version.cause !== 'rollback' || !version.explained.includes(VERSION_REFUSED)) return version;
  const refused = await findShown(run, await readVersion(run, version.parent));
  return findShown(run, await readVersion(run, refused.parent));
}

/** Builds a new context version for the current log with the segments of the older version `shown`. */
function restoreVersion({ ports, journal, prepared }: RunningTurn, refused: number, shown: Version): Version {
  const { baseTotal } = shown;
  const weight = weighVersion(shown);
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

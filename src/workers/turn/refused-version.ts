import { nameConversation } from '../../domain/ids.ts';
import { PASS_LIMITS } from '../../domain/pass.ts';
import { isLost } from '../../domain/ports/turn-store.ts';
import { contextSize } from '../../domain/size.ts';
import { START_VERSION, type Version } from '../../domain/version.ts';
import { hashSegments } from '../content-hash.ts';
import { holdTurnWrite } from './held-write.ts';
import { LostTurn } from './lost-turn.ts';
import type { ModelFailure } from './model-call.ts';
import type { RunningTurn } from './running-turn.ts';
import { hasWaitedForPass, rollbackKey } from './step-keys.ts';

/** In `explained` of a version that was put over a refused one. A caller's rollback says something else. */
const VERSION_REFUSED = 'version_refused';

/** A request whose form was refused. */
export interface RefusedRequest {
  /** key of its step */
  readonly step: string;
  /** that was sent */
  readonly version: number;
}

/**
 * A provider refused the form of a request over a version that a pass made. What was live before it becomes the live
 * version again, the refused one's segments are quarantined, and the step is taken once more. Where that is refused as
 * well, so is what stood before it, until one was answered over or no pass made it. A step that had waited for a pass may wait
 * for another: what stood before is as large as it was.
 * @returns false where no pass made what that version shows, or a request over it was answered: then its form is not what is refused
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
  // None that is newer than the last one answered over ever was, and what is older is reached through that one.
  const { answeredVersion } = journal.conversation;
  const isAnswered = answeredVersion !== undefined && answeredVersion >= shown.number;
  if (shown.cause !== 'pass' || isAnswered) return false;
  const version = restoreVersion(run, refused, await readVersion(run, shown.parent));
  keeper.signal.throwIfAborted();
  // First: a crash between the two costs a wait that was not owed, the other way round it costs the turn.
  if (hasWaitedForPass(journal.steps, step)) await journal.start([rollbackKey(step)]);
  const rollback = {
    expectedVersion: refused,
    shownVersion: shown.number,
    version,
    refusedSegments: hashSegments(shown.segments),
    keepVersions: PASS_LIMITS.keepVersions,
  };
  const result = await holdTurnWrite({ ...ports, keeper }, 'rollback', () =>
    ports.turns.rollBackVersion(keeper.lease, rollback),
  );
  if (isLost(result)) throw new LostTurn(result.status);
  if (result.status === 'answered') return false;
  if (result.status === 'version_changed') {
    journal.adopt(await ports.contexts.readConversation(conversation));
    return true;
  }
  journal.adopt(result.conversation);
  ports.onEvent({
    type: 'version_rejected',
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

/** One that is no longer kept, and none: the whole log is a form that no pass made. */
async function readVersion({ ports, keeper }: RunningTurn, number: number | null): Promise<Version> {
  const version = number === null ? undefined : await ports.contexts.readVersion(keeper.lease.conversation, number);
  return version ?? START_VERSION;
}

/** The version whose segments one has: another's, where it was put over a refused one to show what stood before that. */
async function findShown(run: RunningTurn, version: Version): Promise<Version> {
  if (version.cause !== 'rollback' || !version.explained.includes(VERSION_REFUSED)) return version;
  const refused = await findShown(run, await readVersion(run, version.parent));
  return findShown(run, await readVersion(run, refused.parent));
}

/** The version that shows what `shown` did, and everything behind its base as it is. */
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

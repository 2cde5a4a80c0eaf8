import { PASS_LIMITS } from '../../domain/pass.ts';
import { contextSize } from '../../domain/size.ts';
import { START_VERSION, type Version } from '../../domain/version.ts';
import { hashSegments } from '../segments-hash.ts';
import { LostTurn } from './lost-turn.ts';
import type { ModelFailure } from './model-call.ts';
import type { RunningTurn } from './running-turn.ts';

/**
 * A provider refused the form of a request over a version that a pass made. What was live before it becomes the live
 * version again, the refused one's segments are quarantined, and the step is taken once more.
 * @param refused number of the version that was sent
 * @returns false where no pass made that version, or its provider has answered over it: then its form is not what is refused
 * @throws LostTurn
 */
export async function rollBackRefused(run: RunningTurn, refused: number, failure: ModelFailure): Promise<boolean> {
  const { ports, keeper, journal } = run;
  const { conversation } = keeper.lease;
  // It was answered before: what is refused now came behind it.
  if (journal.conversation.size.anchor?.version === refused) return false;
  const source = await ports.contexts.readContext(conversation, { version: refused });
  if (source === undefined || source.version.cause !== 'pass') return false;
  const version = await restoreParent(run, source.version);
  keeper.signal.throwIfAborted();
  const result = await ports.turns.rollBackVersion(keeper.lease, {
    expectedVersion: refused,
    version,
    refusedSegments: hashSegments(source.version.segments),
    keepVersions: PASS_LIMITS.keepVersions,
  });
  if (result.status === 'fenced' || result.status === 'gone') throw new LostTurn(result.status);
  if (result.status === 'version_changed') {
    journal.adopt(await ports.contexts.readConversation(conversation));
    return true;
  }
  journal.adopt(result.conversation);
  ports.onEvent({
    type: 'version_rejected',
    by: 'provider',
    conversation,
    turn: keeper.lease.turn,
    version: refused,
    codes: failure.code === undefined ? [] : [failure.code],
    message: failure.message,
    ...(failure.form === undefined ? {} : { form: failure.form }),
  });
  return true;
}

/** The version that shows what the refused one's parent showed, and everything behind that parent's base as it is. */
async function restoreParent({ ports, keeper, journal, prepared }: RunningTurn, refused: Version): Promise<Version> {
  const number = refused.parent ?? START_VERSION.number;
  const source = await ports.contexts.readContext(keeper.lease.conversation, { version: number });
  // A parent that is no longer kept: the whole log is a form that no pass made.
  const parent = source?.version ?? START_VERSION;
  const { weight, baseTotal } = parent;
  const { size, head } = journal.conversation;
  const before = contextSize(size, prepared.overhead);
  const after = contextSize(
    { version: refused.number + 1, weight, baseTotal, headTotal: size.headTotal },
    prepared.overhead,
  );
  return {
    ...parent,
    number: refused.number + 1,
    parent: refused.number,
    cause: 'rollback',
    reasons: [],
    strategy: 'none',
    measuredAt: { head, ...after },
    tokensBefore: before.tokens,
    tokensAfter: after.tokens,
    archived: 0,
    explained: [],
    floorRelaxed: false,
    at: ports.clock.now(),
    durationMs: 0,
    model: null,
  };
}

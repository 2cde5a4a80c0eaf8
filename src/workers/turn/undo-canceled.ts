import {
  endBefore,
  evictNewer,
  findVersionBefore,
  keepBetween,
  type LogEnd,
  restoreVersion,
  weighOutside,
} from '../../compaction/restore.ts';
import { type LeftRange, NO_BACKOFF } from '../../domain/conversation.ts';
import { TurnfoldError } from '../../domain/errors.ts';
import type { ConversationRef } from '../../domain/ids.ts';
import type { TurnLease } from '../../domain/lease.ts';
import type { LeaveCause } from '../../domain/leaving.ts';
import { PASS_LIMITS } from '../../domain/pass.ts';
import { type Segment, type SeqRange, START_VERSION } from '../../domain/version.ts';
import type { TurnUndo } from '../../store/busy-turns.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import { LostTurn } from './ending.ts';
import type { RunningTurn } from './running-turn.ts';
import type { TurnPorts } from './turn-ports.ts';

/**
 * Removes the messages of earlier turns that must leave the context, before the first step of this turn. Restores the
 * version that was live before those turns, like `rollBackTurn` of the client.
 * @throws LostTurn if the turn's lease was lost
 */
export async function undoCanceled(run: RunningTurn): Promise<void> {
  const { claimed, journal, ports, ending } = run;
  const { undo = [], left = [] } = claimed.conversation;
  if (undo.length === 0) return;
  for (;;) {
    const { version } = journal.conversation.size;
    const made = await makeUndo(ports, ending.lease.conversation, { version, undo, left });
    const result = await ending.write('rollback', () => ports.turns.undoTurns(ending.lease, made));
    if (result.status !== 'version_changed') return journal.adopt(result.conversation);
    journal.adopt(await ports.contexts.readConversation(ending.lease.conversation));
  }
}

type UndoPorts = Pick<TurnPorts, 'turns' | 'contexts' | 'clock'>;

/**
 * Removes the messages of a turn from the context, once the turn is settled and if no other turn is open. Readers of the
 * context then see at once what the next turn will see. The next turn repeats this work if it was not done here.
 */
export async function undoSettled(ports: UndoPorts, lease: TurnLease): Promise<void> {
  const state = await ports.contexts.readConversation(lease.conversation);
  if (state?.undo === undefined) return;
  const { undo, left = [], size } = state;
  await ports.turns.undoTurns(lease, await makeUndo(ports, lease.conversation, { version: size.version, undo, left }));
}

interface LeavingTurns {
  /** Live version. */
  readonly version: number;
  readonly undo: readonly SeqRange[];
  readonly left: readonly LeftRange[];
}

async function makeUndo(
  ports: UndoPorts,
  conversation: ConversationRef,
  { version: expectedVersion, undo, left }: LeavingTurns,
): Promise<TurnUndo> {
  const versions = await ports.contexts.listVersions(conversation);
  const live = versions.find(({ number }) => number === expectedVersion) ?? START_VERSION;
  // Without the version that was live before, the whole log is shown. The next pass makes it smaller.
  const target = findVersionBefore(versions, undo[0]?.from ?? 1) ?? START_VERSION;
  const newer: Segment[] = [];
  let end: LogEnd = { head: target.base, total: target.baseTotal };
  const keepUntil = (next: LogEnd): void => {
    newer.push(...keepBetween(end, next));
    if (next.head > end.head) end = next;
  };
  for (const { from, to } of undo) {
    const entries = await ports.contexts.readLog(conversation, [{ from, to }]);
    const [before, last] = [endBefore(entries[0]), entries.at(-1)];
    if (before === undefined || last?.seq !== to) throw await missingEntries(ports, conversation, { from, to });
    keepUntil(before);
    newer.push(...(await eventLoopShare.run(evictNewer(entries))));
    end = { head: to, total: last.total };
  }
  // A pass may have committed a version over later messages. The new version shows these messages as the log has them.
  keepUntil({ head: live.base, total: live.baseTotal });
  const outside = weighOutside(versions);
  const explained = [...new Set(undo.map(({ from }) => `turn_${findCause(left, from)}`))];
  const parts = { cause: 'rollback', live, target, newer, log: end, outside, explained } as const;
  const version = restoreVersion({ ...parts, now: ports.clock.now() });
  const noGainBelowTokens = Math.ceil(version.tokensAfter * PASS_LIMITS.backoffGrowth);
  const backoff = { ...NO_BACKOFF, noGainBelowTokens };
  return { expectedVersion, version, backoff, keepVersions: PASS_LIMITS.keepVersions };
}

/** Earlier releases noted no cause, and only turns that were rolled back left the context. */
function findCause(left: readonly LeftRange[], from: number): LeaveCause {
  return left.findLast((range) => range.from === from)?.why ?? 'rolled_back';
}

/** An erase may have removed the log after the conversation was read. Otherwise the log is damaged. */
async function missingEntries(
  { contexts }: UndoPorts,
  conversation: ConversationRef,
  { from, to }: SeqRange,
): Promise<Error> {
  const { undo = [] } = (await contexts.readConversation(conversation)) ?? {};
  if (!undo.some((range) => range.from === from)) return new LostTurn('gone');
  const why = `the log does not hold messages ${from} to ${to} of a turn that left the context`;
  return new TurnfoldError('not_found', why, { details: { from, to } });
}

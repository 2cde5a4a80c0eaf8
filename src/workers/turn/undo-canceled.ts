import {
  endBefore,
  evictNewer,
  findVersionBefore,
  keepBetween,
  type LogEnd,
  restoreVersion,
  weighOutside,
} from '../../domain/compaction/restore.ts';
import { NO_BACKOFF } from '../../domain/conversation.ts';
import { TurnfoldError } from '../../domain/errors.ts';
import { PASS_LIMITS } from '../../domain/pass.ts';
import type { TurnUndo } from '../../domain/ports/busy-turns.ts';
import { type Segment, type SeqRange, START_VERSION } from '../../domain/version.ts';
import { eventLoopShare } from '../../tokens/event-loop-share.ts';
import { writeUnderLease } from './lease-keeper.ts';
import type { RunningTurn } from './running-turn.ts';
import { failTurn, type TurnEnd } from './turn-end.ts';

/**
 * Removes the messages of turns that were canceled with `onBusy: 'rollback'` from the context, before the first step of
 * this turn. Restores the version that was live before those turns, like `rollBackTurn` of the client.
 * @returns the turn's failure if that version is no longer kept
 * @throws LostTurn if the turn's lease was lost
 */
export async function undoCanceled(run: RunningTurn): Promise<Extract<TurnEnd, { kind: 'failed' }> | undefined> {
  const { claimed, journal, ports, keeper } = run;
  const { undo = [] } = claimed.conversation;
  if (undo.length === 0) return undefined;
  for (;;) {
    const made = await makeUndo(run, undo);
    if (made === undefined) {
      return failTurn(
        'version_gone',
        'the context before the canceled turn is no longer kept, so it cannot be restored',
      );
    }
    const result = await writeUnderLease({ ...ports, keeper }, 'rollback', () =>
      ports.turns.undoTurns(keeper.lease, made),
    );
    if (result.status !== 'version_changed') {
      journal.adopt(result.conversation);
      return undefined;
    }
    journal.adopt(await ports.contexts.readConversation(keeper.lease.conversation));
  }
}

async function makeUndo(run: RunningTurn, undo: readonly SeqRange[]): Promise<TurnUndo | undefined> {
  const { journal, ports, keeper } = run;
  const { conversation } = keeper.lease;
  const versions = await ports.contexts.listVersions(conversation);
  const expectedVersion = journal.conversation.size.version;
  const live = versions.find(({ number }) => number === expectedVersion) ?? START_VERSION;
  const target = findVersionBefore(versions, undo[0]?.from ?? 1);
  if (target === undefined) return undefined;
  const newer: Segment[] = [];
  let end: LogEnd = { head: target.base, total: target.baseTotal };
  const keepUntil = (next: LogEnd): void => {
    newer.push(...keepBetween(end, next));
    if (next.head > end.head) end = next;
  };
  for (const { from, to } of undo) {
    const entries = await ports.contexts.readLog(conversation, [{ from, to }]);
    const [before, last] = [endBefore(entries[0]), entries.at(-1)];
    if (before === undefined || last?.seq !== to) {
      const why = `the log does not hold messages ${from} to ${to} of a turn that was rolled back`;
      throw new TurnfoldError('not_found', why, { details: { from, to } });
    }
    keepUntil(before);
    newer.push(...(await eventLoopShare.run(evictNewer(entries))));
    end = { head: to, total: last.total };
  }
  // A pass may have committed a version over later messages. The new version shows these messages as the log has them.
  keepUntil({ head: live.base, total: live.baseTotal });
  const outside = weighOutside(versions);
  const parts = { cause: 'rollback', live, target, newer, log: end, outside, explained: ['turn_rolled_back'] } as const;
  const version = restoreVersion({ ...parts, now: ports.clock.now() });
  const noGainBelowTokens = Math.ceil(version.tokensAfter * PASS_LIMITS.backoffGrowth);
  const backoff = { ...NO_BACKOFF, noGainBelowTokens };
  return { expectedVersion, version, backoff, keepVersions: PASS_LIMITS.keepVersions };
}

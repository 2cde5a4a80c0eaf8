import type { ConversationRef } from '../domain/ids.ts';
import type { Lost, TurnLease } from '../domain/lease.ts';
import { POISON_FAILURE, TURN_LIMITS } from '../domain/turn.ts';
import { decodeMessage } from './log.ts';
import { RecordFields } from './records.ts';
import { decodeReply, decodeStatus, type ScriptDefinition } from './script.ts';
import { CLOSING_ARGUMENT, type ClaimedTurn, decodeClaimedTurn } from './turn-record.ts';

type Claimed = [turn: string, fields: string[], record: string[], input: string, earlier?: string[]];

export type ClaimResult =
  | { readonly status: 'claimed'; readonly turn: ClaimedTurn }
  | { readonly status: 'empty' | 'gone' }
  | { readonly status: 'leased' | 'waiting'; readonly untilMs: number }
  /** The caller lacks this agent. Nothing was written. */
  | { readonly status: 'unserved'; readonly agent: string }
  /** The turn was settled as failed with `poison`. The caller adds the queue job `wake`, if there is one. */
  | { readonly status: 'poison'; readonly turn: string; readonly wake?: string };

/**
 * Claims the oldest unsettled turn.
 * @param wake queue job, stored and returned if the turn is settled as poison and another turn follows
 * @param agents the worker's agents. A turn of another agent is not claimed. Absent: a turn of any agent is claimed
 */
export const claimTurnScript: ScriptDefinition<
  [conversation: ConversationRef, owner: string, wake: string, agents?: readonly string[]],
  ClaimResult
> = {
  file: 'claim-turn',
  args: ([, owner, wake, agents]) => ({
    owner,
    wake,
    leaseMs: TURN_LIMITS.leaseMs,
    maxAttempts: TURN_LIMITS.maxAttempts,
    poison: JSON.stringify(POISON_FAILURE),
    retentionMs: TURN_LIMITS.turnRetentionMs,
    closing: CLOSING_ARGUMENT,
    maxMessages: TURN_LIMITS.claimedMessages,
    maxBytes: TURN_LIMITS.claimedBytes,
    agents: agents && ` ${agents.join(' ')} `,
  }),
  decode: (reply, [conversation, owner, wake], keyspace) =>
    decodeReply<ClaimResult>(reply, {
      claimed: (...[turn, fields, record, input, earlier]: Claimed) => {
        const claimed = RecordFields.ofList(keyspace.turn(conversation, turn), fields);
        const state = RecordFields.ofList(keyspace.key(conversation, 'c'), record);
        const log = keyspace.key(conversation, 'log');
        const messages = earlier?.map((text, at) => decodeMessage({ key: log, field: String(at + 1) }, text));
        return {
          turn: {
            ...decodeClaimedTurn({ conversation, turn, owner }, claimed, state, input),
            ...(messages && { earlier: messages }),
          },
        };
      },
      poison: (turn: string, needsWake: number) => ({ turn, ...(needsWake === 1 && { wake }) }),
      unserved: (agent: string) => ({ agent }),
      leased: (until: string) => ({ untilMs: Number(until) }),
      waiting: (until: string) => ({ untilMs: Number(until) }),
    }),
};

export function turnLeaseArgs({ turn, owner, epoch }: TurnLease) {
  return { turn, owner, epoch };
}

/** Result of a write that only the owner of the turn may do. */
export type OwnerWrite<Status extends string> = { readonly status: Status } | Lost;

export const heartbeatTurnScript: ScriptDefinition<[lease: TurnLease], OwnerWrite<'renewed'>> = {
  file: 'heartbeat-turn',
  args: ([lease]) => ({ ...turnLeaseArgs(lease), leaseMs: TURN_LIMITS.leaseMs }),
  decode: decodeStatus,
};

/** @param isWatched true if a parent process reports a crash by `reportDeath` */
export const startAloneScript: ScriptDefinition<[lease: TurnLease, isWatched?: boolean], OwnerWrite<'recorded'>> = {
  file: 'start-alone',
  args: ([lease, isWatched = false]) => ({ ...turnLeaseArgs(lease), isWatched }),
  decode: decodeStatus,
};

export const reportDeathScript: ScriptDefinition<[lease: TurnLease], OwnerWrite<'recorded'>> = {
  file: 'report-death',
  args: ([lease]) => turnLeaseArgs(lease),
  decode: decodeStatus,
};

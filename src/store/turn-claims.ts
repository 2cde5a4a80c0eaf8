import type { ConversationRef } from '../domain/ids.ts';
import type { Lost, TurnLease } from '../domain/lease.ts';
import { POISON_FAILURE, TURN_LIMITS } from '../domain/turn.ts';
import { decodeMessage } from './log.ts';
import { RecordFields } from './records.ts';
import { decodeStatus, type ScriptDefinition } from './script.ts';
import { CLOSING, type ClaimedTurn, decodeClaimedTurn } from './turn-record.ts';

type ClaimReply =
  | ['gone' | 'empty']
  | ['leased' | 'waiting', string]
  | ['unserved', string]
  | ['poison', string, number]
  | ['claimed', turn: string, fields: string[], record: string[], input: string, earlier?: string[]];

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
 * @param agents the worker's agents. A turn of another agent is not claimed. Absent: any turn is
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
    closing: CLOSING,
    maxMessages: TURN_LIMITS.claimedMessages,
    maxBytes: TURN_LIMITS.claimedBytes,
    agents: agents && ` ${agents.join(' ')} `,
  }),
  decode: (reply, [conversation, owner, wake], keyspace) => {
    const answer = reply as ClaimReply;
    switch (answer[0]) {
      case 'claimed': {
        const [, turn, fields, record, input, earlier] = answer;
        const claimed = RecordFields.ofList(keyspace.turn(conversation, turn), fields);
        const state = RecordFields.ofList(keyspace.key(conversation, 'c'), record);
        const log = keyspace.key(conversation, 'log');
        return {
          status: 'claimed',
          turn: {
            ...decodeClaimedTurn({ conversation, turn, owner }, claimed, state, input),
            ...(earlier && {
              earlier: earlier.map((text, at) => decodeMessage({ key: log, field: String(at + 1) }, text)),
            }),
          },
        };
      }
      case 'poison':
        return { status: 'poison', turn: answer[1], ...(answer[2] === 1 && { wake }) };
      case 'unserved':
        return { status: 'unserved', agent: answer[1] };
      case 'leased':
      case 'waiting':
        return { status: answer[0], untilMs: Number(answer[1]) };
      case 'gone':
      case 'empty':
        return { status: answer[0] };
    }
  },
};

export function turnLeaseArgs({ turn, owner, epoch }: TurnLease) {
  return { turn, owner, epoch };
}

export const heartbeatTurnScript: ScriptDefinition<[lease: TurnLease], { readonly status: 'renewed' } | Lost> = {
  file: 'heartbeat-turn',
  args: ([lease]) => ({ ...turnLeaseArgs(lease), leaseMs: TURN_LIMITS.leaseMs }),
  decode: decodeStatus,
};

/** @param isWatched true if a parent process reports a crash by `reportDeath` */
export const startAloneScript: ScriptDefinition<
  [lease: TurnLease, isWatched?: boolean],
  { readonly status: 'recorded' } | Lost
> = {
  file: 'start-alone',
  args: ([lease, isWatched = false]) => ({ ...turnLeaseArgs(lease), isWatched }),
  decode: decodeStatus,
};

export const reportDeathScript: ScriptDefinition<[lease: TurnLease], { readonly status: 'recorded' } | Lost> = {
  file: 'report-death',
  args: ([lease]) => turnLeaseArgs(lease),
  decode: decodeStatus,
};

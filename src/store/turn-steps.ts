import type { Redis } from 'ioredis';
import type { ConversationRef } from '../domain/ids.ts';
import type { Briefing, Lost, StepOutcome, TurnLease, TurnStore } from '../domain/ports/turn-store.ts';
import { POISON_FAILURE, TURN_LIMITS } from '../domain/turn.ts';
import { checkNumber } from '../domain/version.ts';
import {
  decodeConversation,
  decodeStepState,
  encodeFacts,
  encodeOpenCall,
  STEP_STATE_FIELDS,
} from './conversation-record.ts';
import type { Keyspace } from './keys.ts';
import { decodeMessage, encodeMessages } from './log.ts';
import { callStore, RecordFields } from './records.ts';
import { type Argument, decodeStatus, type ScriptOf } from './script.ts';
import { closingArgs, decodeClaimedTurn } from './turn-record.ts';
import { versionArgs } from './version-record.ts';

type ClaimReply =
  | ['gone' | 'empty']
  | ['leased' | 'waiting', string]
  | ['unserved', string]
  | ['poison', string, number]
  | ['claimed', turn: string, fields: string[], record: string[], input: string, earlier?: string[]];

export const claimTurnScript: ScriptOf<TurnStore['claim']> = {
  file: 'claim-turn',
  args: ([, owner, wake, agents]) => [
    owner,
    wake,
    TURN_LIMITS.leaseMs,
    TURN_LIMITS.maxAttempts,
    JSON.stringify(POISON_FAILURE),
    TURN_LIMITS.turnRetentionMs,
    ...closingArgs(),
    TURN_LIMITS.claimedMessages,
    TURN_LIMITS.claimedBytes,
    agents === undefined ? '' : ` ${agents.join(' ')} `,
  ],
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

/** First arguments of every script that only the owner of a turn may run. */
export function turnLeaseArgs({ turn, owner, epoch }: TurnLease): Argument[] {
  return [turn, owner, epoch];
}

export const heartbeatTurnScript: ScriptOf<TurnStore['heartbeat']> = {
  file: 'heartbeat-turn',
  args: ([lease]) => [...turnLeaseArgs(lease), TURN_LIMITS.leaseMs],
  decode: decodeStatus,
};

export const startAloneScript: ScriptOf<TurnStore['startAlone']> = {
  file: 'start-alone',
  args: ([lease, isWatched]) => [...turnLeaseArgs(lease), isWatched ? 1 : 0],
  decode: decodeStatus,
};

export const reportDeathScript: ScriptOf<TurnStore['reportDeath']> = {
  file: 'report-death',
  args: ([lease]) => turnLeaseArgs(lease),
  decode: decodeStatus,
};

export const startStepsScript: ScriptOf<TurnStore['startSteps']> = {
  file: 'start-steps',
  args: ([lease, steps]) => [...turnLeaseArgs(lease), ...steps],
  decode: decodeStatus,
};

export const recordStepScript: ScriptOf<TurnStore['recordStep']> = {
  file: 'record-step',
  args: ([lease, outcome]) => [
    ...turnLeaseArgs(lease),
    TURN_LIMITS.leaseMs,
    STEP_STATE_FIELDS.join(' '),
    ...outcomeArgs(outcome),
  ],
  decode: (reply, [{ conversation }], keyspace) => {
    const answer = reply as [Lost['status']] | ['recorded' | 'known', (string | null)[]];
    if (answer.length === 1) return { status: answer[0] };
    const record = RecordFields.ofValues(keyspace.key(conversation, 'c'), STEP_STATE_FIELDS, answer[1]);
    return { status: answer[0], conversation: decodeStepState(record) };
  },
};

/**
 * Last arguments of the scripts that record a step, as `lua/shared/outcome.lua` reads them: the outcome as JSON, its full
 * texts, its messages.
 */
export function outcomeArgs(outcome: StepOutcome): Argument[] {
  const texts = [...(outcome.fullTexts ?? [])];
  return [encodeOutcome(outcome, texts.length), ...texts.flat(), ...encodeMessages(outcome.messages)];
}

function encodeOutcome(outcome: StepOutcome, texts: number): string {
  const { anchor, usage } = outcome;
  return JSON.stringify({
    key: outcome.key,
    expectedHead: outcome.expectedHead,
    anchor: anchor && { tokens: anchor.tokens, version: anchor.version, fingerprint: anchor.fingerprint ?? '' },
    answered: outcome.answeredVersion,
    facts: outcome.requestFacts && encodeFacts(outcome.requestFacts),
    inputTokens: usage?.inputTokens ?? 0,
    outputTokens: usage?.outputTokens ?? 0,
    cachedTokens: usage?.cachedTokens ?? 0,
    costMicros: usage?.costMicros ?? 0,
    requestTokens: outcome.requestTokens,
    ending: outcome.end ?? '',
    opens: outcome.opens.map(encodeOpenCall),
    closes: outcome.closes,
    texts,
  });
}

/**
 * Field names in `txt:<id>`: the context of an open turn, and the last system prompt, stored after its turn's id and a line
 * break.
 */
const contextField = (turn: string): string => `c:${turn}`;
const SYSTEM = 'system';

export const keepSystemScript: ScriptOf<TurnStore['keepSystem']> = {
  file: 'keep-system',
  args: ([lease, system]) => [...turnLeaseArgs(lease), system],
  decode: (reply) => {
    const [status, system] = reply as ['kept', string] | [Lost['status']];
    return status === 'kept' ? { status, system: system ?? '' } : { status };
  },
};

/**
 * Reads the context and the system prompt of a turn without a script, because only the turn at the head of the mailbox
 * writes them.
 */
export async function readBriefing(
  redis: Redis,
  keyspace: Keyspace,
  conversation: ConversationRef,
  turn: string,
): Promise<Briefing> {
  const key = keyspace.key(conversation, 'txt');
  const [context, kept] = await callStore(() => redis.hmget(key, contextField(turn), SYSTEM));
  const isOfTurn = typeof kept === 'string' && kept.startsWith(`${turn}\n`);
  return {
    ...(typeof context === 'string' && { context }),
    ...(isOfTurn && { system: kept.slice(turn.length + 1) }),
  };
}

/** Reads the system prompt of the last turn that recorded one. Returns undefined if none did. */
export async function readSystem(
  redis: Redis,
  keyspace: Keyspace,
  conversation: ConversationRef,
): Promise<string | undefined> {
  const kept = await callStore(() => redis.hget(keyspace.key(conversation, 'txt'), SYSTEM));
  return typeof kept === 'string' ? kept.slice(kept.indexOf('\n') + 1) : undefined;
}

type RollBackReply =
  | ['rolled_back' | 'known', string[]]
  | ['version_changed', number]
  | ['answered']
  | [Lost['status']];

export const rollBackVersionScript: ScriptOf<TurnStore['rollBackVersion']> = {
  file: 'roll-back-version',
  args: ([lease, rollback]) => {
    checkNumber(rollback);
    const { version, expectedVersion, shownVersion, refusedSegments, keepVersions } = rollback;
    const refused = [expectedVersion, shownVersion, refusedSegments];
    return [...turnLeaseArgs(lease), ...refused, ...versionArgs(version, keepVersions)];
  },
  decode: (reply, [{ conversation }], keyspace) => {
    const answer = reply as RollBackReply;
    if (answer[0] === 'version_changed') return { status: answer[0], version: answer[1] };
    if (answer.length === 1) return { status: answer[0] };
    const record = RecordFields.ofList(keyspace.key(conversation, 'c'), answer[1]);
    return { status: answer[0], conversation: decodeConversation(record) };
  },
};

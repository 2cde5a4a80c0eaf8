import type { Redis } from 'ioredis';
import type { StepState } from '../domain/conversation.ts';
import type { OpenCall } from '../domain/history.ts';
import type { ConversationRef } from '../domain/ids.ts';
import type { Lost, TurnLease } from '../domain/lease.ts';
import type { WeighedMessage } from '../domain/message.ts';
import type { RequestFacts } from '../domain/request-facts.ts';
import type { SizeAnchor } from '../domain/size.ts';
import { type AnswerEnd, TURN_LIMITS, type TurnUsage } from '../domain/turn.ts';
import { decodeStepState, encodeFacts, encodeOpenCall, STEP_STATE_FIELDS } from './conversation-record.ts';
import type { Keyspace } from './keys.ts';
import { encodeMessages } from './log.ts';
import { callStore, RecordFields } from './records.ts';
import { decodeReply, decodeStatus, type ScriptDefinition } from './script.ts';
import { type OwnerWrite, turnLeaseArgs } from './turn-claims.ts';

export const startStepsScript: ScriptDefinition<[lease: TurnLease, keys: readonly string[]], OwnerWrite<'recorded'>> = {
  file: 'start-steps',
  args: ([lease, steps]) => ({ ...turnLeaseArgs(lease), rest: steps }),
  decode: decodeStatus,
};

export type StepResult = { readonly status: 'recorded' | 'known'; readonly conversation: StepState } | Lost;

export interface StepOutcome {
  readonly key: string;
  readonly messages: readonly WeighedMessage[];
  /**
   * Last log entry that the worker knew. If the log has grown since the worker chose ids of new calls, the answer is
   * `fenced`. Absent for tool results.
   */
  readonly expectedHead?: number;
  readonly opens: readonly OpenCall[];
  readonly closes: readonly string[];
  /** Full texts of clipped messages, by hash. */
  readonly fullTexts?: ReadonlyMap<string, string>;
  readonly usage?: TurnUsage;
  /** The provider's count of the whole request, and the version that was sent. Another version may be live by now. */
  readonly anchor?: Pick<SizeAnchor, 'tokens' | 'version' | 'fingerprint'>;
  readonly requestFacts?: RequestFacts;
  /** Version with which the model answered. From then on this version is never rolled back. */
  readonly answeredVersion?: number;
  /** Tokens of the request by our own count, stored with the turn. */
  readonly requestTokens?: number;
  /** How the answer ended, if the answer is incomplete. That answer is then the first of `messages`. */
  readonly end?: AnswerEnd;
}

export const recordStepScript: ScriptDefinition<[lease: TurnLease, outcome: StepOutcome], StepResult> = {
  file: 'record-step',
  args: ([lease, outcome]) => ({
    ...turnLeaseArgs(lease),
    leaseMs: TURN_LIMITS.leaseMs,
    fields: STEP_STATE_FIELDS.join(' '),
    ...outcomeArgs(outcome),
  }),
  decode: (reply, [{ conversation }], keyspace) => {
    const read = (values: (string | null)[]) => ({
      conversation: decodeStepState(RecordFields.ofValues(keyspace.key(conversation, 'c'), STEP_STATE_FIELDS, values)),
    });
    return decodeReply<StepResult>(reply, { recorded: read, known: read });
  },
};

/** Arguments for `lua/shared/outcome.lua`: the outcome as JSON, then its full texts and its messages. */
export function outcomeArgs(outcome: StepOutcome) {
  const { anchor, usage } = outcome;
  const texts = [...(outcome.fullTexts ?? [])];
  const encoded = JSON.stringify({
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
    texts: texts.length,
  });
  return { outcome: encoded, rest: [...texts.flat(), ...encodeMessages(outcome.messages)] };
}

/**
 * Fields of `txt:<id>`: the context of a turn, and the last system prompt, which stands behind the id of its turn and a
 * line break.
 */
const SYSTEM = 'system';

export type KeepSystemResult = { readonly status: 'kept'; readonly system: string } | Lost;

export const keepSystemScript: ScriptDefinition<[lease: TurnLease, system: string], KeepSystemResult> = {
  file: 'keep-system',
  args: ([lease, system]) => ({ ...turnLeaseArgs(lease), system }),
  decode: (reply) => decodeReply<KeepSystemResult>(reply, { kept: (system: string) => ({ system }) }),
};

export interface Briefing {
  readonly context?: string;
  /** Tools, instructions and settings of this turn alone, as JSON. */
  readonly own?: string;
  /** System prompt that a function of the agent wrote for this turn. */
  readonly system?: string;
}

/**
 * Reads what the caller gave for a turn, and the prompt of the turn. No script is needed, because only the turn at the head of the mailbox writes
 * these texts.
 */
export async function readBriefing(
  redis: Redis,
  keyspace: Keyspace,
  conversation: ConversationRef,
  turn: string,
): Promise<Briefing> {
  const key = keyspace.key(conversation, 'txt');
  const [context, own, kept] = await callStore(() => redis.hmget(key, `c:${turn}`, `o:${turn}`, SYSTEM));
  const isOfTurn = typeof kept === 'string' && kept.startsWith(`${turn}\n`);
  return {
    ...(typeof context === 'string' && { context }),
    ...(typeof own === 'string' && { own }),
    ...(isOfTurn && { system: kept.slice(turn.length + 1) }),
  };
}

export async function readSystem(
  redis: Redis,
  keyspace: Keyspace,
  conversation: ConversationRef,
): Promise<string | undefined> {
  const kept = await callStore(() => redis.hget(keyspace.key(conversation, 'txt'), SYSTEM));
  return typeof kept === 'string' ? kept.slice(kept.indexOf('\n') + 1) : undefined;
}

/** Reads what the first open turn brings. Without a script, because a pass that misses it only gets a larger budget. */
export async function readOwn(
  redis: Redis,
  keyspace: Keyspace,
  conversation: ConversationRef,
): Promise<string | undefined> {
  const turn = await callStore(() => redis.lindex(keyspace.key(conversation, 'mb'), 0));
  if (turn === null) return undefined;
  return (await callStore(() => redis.hget(keyspace.key(conversation, 'txt'), `o:${turn}`))) ?? undefined;
}

import type { Redis } from 'ioredis';
import type { Acknowledged } from '../domain/durability.ts';
import type { ConversationRef, TraceParent } from '../domain/ids.ts';
import type { Message, WeighedMessage } from '../domain/message.ts';
import { type OnBusy, TURN_LIMITS, type TurnCaps, type TurnMetadata, type TurnState } from '../domain/turn.ts';
import { type CreatedAbout, createdArgs } from './about.ts';
import { type Forking, readForking } from './conversation-record.ts';
import { SCHEMAS } from './keys.ts';
import { decodeMessage } from './log.ts';
import { callStore } from './records.ts';
import { decodeReply, type ScriptDefinition } from './script.ts';
import { CLOSING_ARGUMENT, encodeCaps } from './turn-record.ts';

export type AcceptResult =
  | { readonly status: 'accepted' | 'known'; readonly state: TurnState; readonly needsWake: boolean }
  | { readonly status: 'conflict' }
  | Forking
  | { readonly status: 'other_agent'; readonly agent: string }
  | { readonly status: 'other_owner' }
  /**
   * `full`: the mailbox has reached its limit. `busy`: the mailbox is not empty, and the caller asked to refuse the
   * turn in this case.
   */
  | { readonly status: 'full' | 'busy'; readonly queued: number }
  /** The turn to run again has not failed. Without `state`, that turn does not exist. */
  | { readonly status: 'not_failed'; readonly state?: TurnState };

export interface AcceptRequest extends CreatedAbout {
  readonly conversation: ConversationRef;
  readonly turn: string;
  readonly agent: string;
  readonly input: WeighedMessage;
  /** Hash of the payload. Another hash under the same turn id is a conflict. */
  readonly payloadHash: string;
  readonly wake: string;
  /** ms for which the turn stays `scheduled`. Absent or 0: the turn is queued at once. */
  readonly delayMs?: number | undefined;
  readonly maxQueuedTurns: number;
  readonly traceParent?: TraceParent | undefined;
  readonly context?: string | undefined;
  /** Tools, instructions and settings of this turn alone, as JSON. A redrive takes those of its failed turn. */
  readonly own?: string | undefined;
  /** Failed turn of this conversation whose input this turn repeats. */
  readonly redriveOf?: string;
  /** Action if the mailbox is not empty. Absent: `enqueue`. A delayed turn is always enqueued. */
  readonly onBusy?: OnBusy | undefined;
  /** Turn for which `onBusy` is meant. If another turn is first, the new turn is enqueued. Absent: any turn. */
  readonly busyTurn?: string | undefined;
  readonly caps?: TurnCaps | undefined;
  readonly metadata?: TurnMetadata | undefined;
}

export const acceptTurnScript: ScriptDefinition<[request: AcceptRequest], Acknowledged<AcceptResult>> = {
  file: 'accept-turn',
  args: ([request]) => ({
    turn: request.turn,
    agent: request.agent,
    hash: request.payloadHash,
    input: `${request.input.tokens} ${request.input.bytes}\n${JSON.stringify(request.input.message)}`,
    wake: request.wake,
    delayMs: request.delayMs ?? 0,
    maxQueuedTurns: request.maxQueuedTurns,
    schema: SCHEMAS.current,
    original: request.redriveOf,
    traceParent: request.traceParent,
    context: request.context,
    own: request.own,
    onBusy: request.onBusy ?? 'enqueue',
    retentionMs: TURN_LIMITS.turnRetentionMs,
    closing: CLOSING_ARGUMENT,
    caps: encodeCaps(request.caps),
    busyTurn: request.busyTurn,
    metadata: request.metadata && JSON.stringify(request.metadata),
    ...createdArgs(request),
  }),
  decode: (reply) =>
    decodeReply<AcceptResult>(reply, {
      accepted: readAccepted,
      known: readAccepted,
      forking: readForking,
      other_agent: (agent: string) => ({ agent }),
      full: (queued: number) => ({ queued }),
      busy: (queued: number) => ({ queued }),
      not_failed: (state: TurnState | '') => (state === '' ? {} : { state }),
    }),
};

function readAccepted(state: TurnState, needsWake: number) {
  return { state, needsWake: needsWake === 1 };
}

export type CancelResult =
  | { readonly status: 'canceled'; readonly wake?: string }
  | { readonly status: 'begun' }
  | { readonly status: 'settled'; readonly state: TurnState }
  | { readonly status: 'not_found' };

export const cancelTurnScript: ScriptDefinition<
  [conversation: ConversationRef, turn: string, wake: string, replacedBy?: string | undefined],
  Acknowledged<CancelResult>
> = {
  file: 'cancel-turn',
  args: ([, turn, wake, replacedBy = '']) => ({
    turn,
    wake,
    retentionMs: TURN_LIMITS.turnRetentionMs,
    closing: CLOSING_ARGUMENT,
    replacedBy,
  }),
  decode: (reply, [, , wake]) =>
    decodeReply<CancelResult>(reply, {
      canceled: (needsWake: number) => (needsWake === 1 ? { wake } : {}),
      settled: (state: TurnState) => ({ state }),
    }),
};

/** Reads user messages, by turn. Leaves out turns that a worker has claimed. */
export async function readInputs(
  redis: Redis,
  txt: string,
  turns: readonly string[],
): Promise<ReadonlyMap<string, Message>> {
  const fields = turns.map((turn) => `i:${turn}`);
  const found = fields.length === 0 ? [] : await callStore(() => redis.hmget(txt, ...fields));
  return new Map(
    turns.flatMap((turn, index) => {
      const text = found[index] ?? undefined;
      if (text === undefined) return [];
      // The first line of the text has the tokens and bytes of the message.
      const written = text.slice(text.indexOf('\n') + 1);
      return [[turn, decodeMessage({ key: txt, field: `i:${turn}` }, written)] as const];
    }),
  );
}

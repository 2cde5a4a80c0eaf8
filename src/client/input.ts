import { z } from 'zod';
import type { ToolOutput } from '../domain/agent.ts';
import { fieldError } from '../domain/errors.ts';
import { type ConversationRef, DEFAULT_TENANT, idSchema } from '../domain/ids.ts';
import { boundedList, MAX_MESSAGE_BYTES, type Message, messageSchema, type WeighedMessage } from '../domain/message.ts';
import { parseInput } from '../domain/parse.ts';
import type { TokenCounter } from '../domain/ports/token-counter.ts';
import type { StoredAnswer } from '../domain/ports/turn-answers.ts';
import type { TurnContext } from '../domain/turn-context.ts';
import { bytesOfMessage, countMessage } from '../tokens/message-tokens.ts';

const conversationFields = { conversation: idSchema, tenant: idSchema.default(DEFAULT_TENANT) };

/** Ten years. A longer delay is a mistake, and no date can show it. */
const DELAY_MOST_MS = 315_360_000_000;

export const enqueueSchema = z
  .strictObject({
    ...conversationFields,
    agent: idSchema,
    input: z.string().min(1),
    turn: idSchema.optional(),
    context: z.unknown().optional(),
    delayMs: z.number().int().min(0).max(DELAY_MOST_MS).optional(),
    priority: z.number().int().min(1).max(2_097_151).optional(),
    maxQueuedTurns: z.number().int().min(1).optional(),
  })
  .refine(({ delayMs = 0, priority }) => delayMs === 0 || priority === undefined, {
    path: ['priority'],
    message: 'a turn with a delay cannot have a priority',
  });

export const appendSchema = z.strictObject({
  ...conversationFields,
  agent: idSchema,
  messages: boundedList(messageSchema, 5_000).refine(
    (messages) => messages.length > 0,
    'expected at least one message',
  ),
  operation: idSchema.optional(),
  expectedHead: z.number().int().min(0).optional(),
});

export const versionNumberSchema = z.number().int().min(0);

export const contextPointSchema = z.strictObject({
  /** Number of a kept version. 0 is the whole log. */
  version: versionNumberSchema.optional(),
  /** Last seq of the log. */
  head: z.number().int().min(0).optional(),
});

/** A point in the history of a context: a kept version, and the end of the log behind it. */
export type ContextPoint = z.input<typeof contextPointSchema>;

/** A turn to accept. */
export interface EnqueueInput {
  /** Id of the conversation, `[A-Za-z0-9_.-]{1,128}`. The first turn creates the conversation. */
  readonly conversation: string;
  /** Tenant of the conversation (`_`). */
  readonly tenant?: string | undefined;
  /** Name of the agent that answers. A conversation has one agent. */
  readonly agent: string;
  /** The user message. */
  readonly input: string;
  /** Id that makes the call repeatable (a new ULID). A repeated call returns the turn's current state. */
  readonly turn?: string | undefined;
  /**
   * Context for the agent's tools and system prompt, never for the model: a JSON object of at most 16 KiB. It is part
   * of the turn's identity, never logged, and erased when the turn settles.
   */
  readonly context?: TurnContext | undefined;
  /** Delay until the turn is due, in ms (0). */
  readonly delayMs?: number | undefined;
  /**
   * Priority of the conversation: 1 is first. Turns of one conversation keep their order. The priority belongs to the
   * wake of an empty mailbox. A turn behind others has no wake, and a delayed turn is woken by the sweeper.
   */
  readonly priority?: number | undefined;
  /**
   * Largest number of queued turns that still accepts this turn (1,000). Scheduled turns do not count, and always
   * enter when due.
   */
  readonly maxQueuedTurns?: number | undefined;
}

/** Messages to append without a turn. */
export interface AppendInput {
  /** Id of the conversation. The first append creates it. */
  readonly conversation: string;
  /** Tenant of the conversation (`_`). */
  readonly tenant?: string | undefined;
  /** Name of the conversation's agent. */
  readonly agent: string;
  /** Messages, oldest first, at most 5,000. */
  readonly messages: readonly MessageInput[];
  /** Id under which a repeated call changes nothing. */
  readonly operation?: string | undefined;
  /** Seq at which the log must end. */
  readonly expectedHead?: number | undefined;
}

type MessageInput = z.input<typeof messageSchema>;

/** A conversation by id, or with its tenant. */
export type ConversationName =
  | string
  | {
      /** Tenant of the conversation (`_`). */
      readonly tenant?: string | undefined;
      /** Id of the conversation. */
      readonly conversation: string;
    };

/** @param at name of the argument in errors. @throws invalid_input */
export function readConversationName(name: ConversationName, at = 'conversation'): ConversationRef {
  if (!isMapping(name)) return { id: parseInput(idSchema, name, at), tenant: DEFAULT_TENANT };
  const { tenant, conversation: id } = parseInput(nameSchema, name, at);
  return { id: parseInput(idSchema, id, at), tenant: parseInput(conversationFields.tenant, tenant, 'tenant') };
}

/** Reads each field once. The fields are validated afterwards, under the names that the caller uses. */
const nameSchema = z.object({ tenant: z.unknown(), conversation: z.unknown() });

/** @throws invalid_input */
export function readTurnId(turn: string): string {
  return parseInput(idSchema, turn, 'turn');
}

/** A result of an external tool, or a person's decision. */
export type CallAnswer =
  | ToolOutput
  | {
      /** True if the call may run. */
      readonly approved: boolean;
      /** Reason of a denial, shown to the model. */
      readonly why?: string;
    };

const approvalSchema = z.strictObject({ approved: z.boolean(), why: z.string().optional() });
const answerSchema = z.union(
  [z.strictObject({ content: z.string(), isError: z.boolean().optional() }), approvalSchema],
  { error: 'expected {content, isError?} or {approved, why?}' },
);

const answersSchema = z
  .record(z.string().min(1).max(256), answerSchema)
  .refine((answers) => Object.keys(answers).length > 0, 'expected at least one answer, by call id');

/**
 * Encodes answers for the store, by call id. Validation happens here, because a worker could only fail the model call
 * or treat a bad approval as a denial. The store refuses an answer of the wrong kind.
 * @throws invalid_input, message_too_large, with the field
 */
export async function readAnswers(
  counter: TokenCounter,
  answers: Readonly<Record<string, CallAnswer>>,
): Promise<Map<string, StoredAnswer>> {
  const stored = new Map<string, StoredAnswer>();
  for (const [call, answer] of Object.entries(parseInput(answersSchema, answers, 'answers'))) {
    const json = JSON.stringify(answer);
    checkBytes(json, `answers.${call}`);
    const kind = 'approved' in answer ? 'approval' : 'tools';
    const result = 'approved' in answer ? describeUnused(answer) : answer;
    const weight = { tokens: await countMessage(counter, result), bytes: bytesOfMessage(result) };
    const unused = kind === 'tools' ? weight : { ...weight, json: JSON.stringify(result) };
    stored.set(call, { for: kind, json, unused });
  }
  return stored;
}

/** Log entry for a decision that no worker carried out before the turn settled. */
function describeUnused({ approved, why }: z.output<typeof approvalSchema>): ToolOutput {
  const content = approved
    ? 'No result: the call was approved, and the conversation continued before the result arrived. The outcome is unknown.'
    : `denied: ${why ?? 'the call was not approved'}`;
  return { content, isError: true };
}

/** Counts a message once, on entry. @throws message_too_large, with the field */
export async function weighMessage(counter: TokenCounter, message: Message, field: string): Promise<WeighedMessage> {
  checkMessageBytes(message, field);
  const bytes = bytesOfMessage(message);
  return { message, bytes, tokens: await countMessage(counter, message) };
}

/** @throws message_too_large, with the field */
export function checkMessageBytes(message: Message, field: string): void {
  // The text alone may be too large. Checking it first avoids serializing hundreds of megabytes.
  checkBytes(message.content, field);
  checkBytes(JSON.stringify(message), field);
}

/** @throws message_too_large, with the field */
function checkBytes(text: string, field: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes <= MAX_MESSAGE_BYTES) return;
  throw fieldError('message_too_large', field, `${bytes} bytes, at most ${MAX_MESSAGE_BYTES}`, {
    details: { bytes },
  });
}

/** The types exclude null, but JavaScript callers can pass it. */
function isMapping(name: ConversationName): name is Exclude<ConversationName, string> {
  return typeof name === 'object' && name !== null;
}

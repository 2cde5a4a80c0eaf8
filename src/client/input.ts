import { z } from 'zod';
import type { ToolOutput } from '../domain/agent.ts';
import { TurnfoldError } from '../domain/errors.ts';
import { type ConversationRef, DEFAULT_TENANT, idSchema } from '../domain/ids.ts';
import { boundedList, MAX_MESSAGE_BYTES, type Message, messageSchema, type WeighedMessage } from '../domain/message.ts';
import { parseInput } from '../domain/parse.ts';
import type { TokenCounter } from '../domain/ports/token-counter.ts';
import type { StoredAnswer } from '../domain/ports/turn-answers.ts';
import type { TurnContext } from '../domain/turn-context.ts';
import { bytesOfMessage, countMessage } from '../tokens/message-tokens.ts';

const conversationFields = { conversation: idSchema, tenant: idSchema.default(DEFAULT_TENANT) };

/** Ten years: what is further off is not meant, and no date can show it. */
const DELAY_MOST_MS = 315_360_000_000;

export const enqueueSchema = z
  .strictObject({
    ...conversationFields,
    agent: idSchema,
    /** the user message */
    input: z.string().min(1),
    /** the caller's id makes the call repeatable: the same again answers the present state */
    turn: idSchema.optional(),
    /** for tools and system prompts, not for models: `writeContext` */
    context: z.unknown().optional(),
    /** ms until the turn becomes due */
    delayMs: z.number().int().min(0).max(DELAY_MOST_MS).optional(),
    /**
     * orders conversations, never the turns of one; 1 is first. It is the wake's that a turn brings to an empty mailbox: one
     * behind others has none, and one that becomes due later is woken by a sweep
     */
    priority: z.number().int().min(1).max(2_097_151).optional(),
    /** refuse where so many wait; scheduled turns do not count, and are let in when they are due */
    maxQueuedTurns: z.number().int().min(1).optional(),
  })
  .refine(({ delayMs = 0, priority }) => delayMs === 0 || priority === undefined, {
    path: ['priority'],
    message: 'a turn with a delay takes none',
  });

export const appendSchema = z.strictObject({
  ...conversationFields,
  agent: idSchema,
  messages: boundedList(messageSchema, 5_000).refine(
    (messages) => messages.length > 0,
    'expected at least one message',
  ),
  /** the same operation again changes nothing */
  operation: idSchema.optional(),
  /** refuse unless the log ends here */
  expectedHead: z.number().int().min(0).optional(),
});

export const versionNumberSchema = z.number().int().min(0);

export const contextPointSchema = z.strictObject({
  /** a kept version; 0 is the whole log */
  version: versionNumberSchema.optional(),
  /** the last seq of the log that is shown */
  head: z.number().int().min(0).optional(),
});

/** A place in a conversation's life: a kept version, and how far the log is read behind it. */
export interface ContextPoint {
  /** a kept version; 0 is the whole log */
  readonly version?: number;
  /** the last seq of the log that is shown */
  readonly head?: number;
}

/** A turn to accept. */
export interface EnqueueInput {
  /** id of the conversation, `[A-Za-z0-9_.-]{1,128}`; its first turn creates it */
  readonly conversation: string;
  /** whose conversation it is (default `_`) */
  readonly tenant?: string | undefined;
  /** name of the agent that answers; a conversation has one agent */
  readonly agent: string;
  /** the user message */
  readonly input: string;
  /** the caller's id makes the call repeatable: the same again answers the present state */
  readonly turn?: string | undefined;
  /**
   * for the agent's tools and its system prompt, not for its model: a JSON object of at most 16 KiB. Part of what makes a turn
   * the same; never logged; erased when the turn settles
   */
  readonly context?: TurnContext | undefined;
  /** ms until the turn becomes due (default 0) */
  readonly delayMs?: number | undefined;
  /**
   * orders conversations, never the turns of one; 1 is first. It is the wake's that a turn brings to an empty mailbox: one
   * behind others has none, and one that becomes due later is woken by a sweep
   */
  readonly priority?: number | undefined;
  /** refuse where so many wait (default 1,000); scheduled turns do not count, and are let in when they are due */
  readonly maxQueuedTurns?: number | undefined;
}

/** Messages to add without a turn. */
export interface AppendInput {
  /** id of the conversation; its first append creates it */
  readonly conversation: string;
  /** whose conversation it is (default `_`) */
  readonly tenant?: string | undefined;
  /** name of the agent whose conversation it is */
  readonly agent: string;
  /** oldest first, at most 5,000 */
  readonly messages: readonly MessageInput[];
  /** the same operation again changes nothing */
  readonly operation?: string | undefined;
  /** refuse unless the log ends at this seq */
  readonly expectedHead?: number | undefined;
}

type MessageInput = z.input<typeof messageSchema>;

/** A conversation by its id, or with its tenant. */
export type ConversationName =
  | string
  | {
      /** whose conversation it is (default `_`) */
      readonly tenant?: string | undefined;
      /** its id */
      readonly conversation: string;
    };

/** @param at what the caller calls it. @throws invalid_input */
export function readConversationName(name: ConversationName, at = 'conversation'): ConversationRef {
  if (!isMapping(name)) return { id: parseInput(idSchema, name, at), tenant: DEFAULT_TENANT };
  const { tenant, conversation: id } = parseInput(nameSchema, name, at);
  return { id: parseInput(idSchema, id, at), tenant: parseInput(conversationFields.tenant, tenant, 'tenant') };
}

/** Reads both fields once; what is wrong with them is told under the names that the caller knows. */
const nameSchema = z.object({ tenant: z.unknown(), conversation: z.unknown() });

/** @throws invalid_input */
export function readTurnId(turn: string): string {
  return parseInput(idSchema, turn, 'turn');
}

/** What a tool that runs elsewhere brought, or what a person decided. */
export type CallAnswer =
  | ToolOutput
  | {
      /** whether the call may run */ readonly approved: boolean;
      /** told to the model where it may not */

      readonly why?: string;
    };

const answerSchema = z.union(
  [
    z.strictObject({ content: z.string(), isError: z.boolean().optional() }),
    z.strictObject({ approved: z.boolean(), why: z.string().optional() }),
  ],
  { error: 'expected {content, isError?} or {approved, why?}' },
);

const answersSchema = z
  .record(z.string().min(1).max(256), answerSchema)
  .refine((answers) => Object.keys(answers).length > 0, 'expected at least one answer, by call id');

/**
 * Answers as they are stored, by call id. What a worker could not read would be an error before the model, or a denial that
 * nobody meant: it is refused here, and an answer of the other kind by the store, which knows what the turn waits for.
 * @throws invalid_input, message_too_large, with the field
 */
export async function readAnswers(
  counter: TokenCounter,
  answers: Readonly<Record<string, CallAnswer>>,
): Promise<Map<string, StoredAnswer>> {
  const brought = new Map<string, StoredAnswer>();
  for (const [call, answer] of Object.entries(parseInput(answersSchema, answers, 'answers'))) {
    const json = JSON.stringify(answer);
    checkBytes(json, `answers.${call}`);
    const kind = 'approved' in answer ? 'approval' : 'tools';
    const result = 'approved' in answer ? describeUnused(answer) : answer;
    const weight = { tokens: await countMessage(counter, result), bytes: bytesOfMessage(result) };
    const unused = kind === 'tools' ? weight : { ...weight, json: JSON.stringify(result) };
    brought.set(call, { for: kind, json, unused });
  }
  return brought;
}

/** What the log says of a decision that no worker has carried out, because the turn was settled first. */
function describeUnused({
  approved,
  why,
}: {
  readonly approved: boolean;
  readonly why?: string | undefined;
}): ToolOutput {
  const content = approved
    ? 'No result: the call was approved, and the conversation went on before it was answered. Whether it took effect is unknown.'
    : `denied: ${why ?? 'the call was not approved'}`;
  return { content, isError: true };
}

/** Counts a message once, at the border. @throws message_too_large, with the field */
export async function weighMessage(counter: TokenCounter, message: Message, field: string): Promise<WeighedMessage> {
  checkMessageBytes(message, field);
  const bytes = bytesOfMessage(message);
  return { message, bytes, tokens: await countMessage(counter, message) };
}

/** @throws message_too_large, with the field */
export function checkMessageBytes(message: Message, field: string): void {
  // Its text first: the JSON of a text of hundreds of megabytes is not worth making.
  checkBytes(message.content, field);
  checkBytes(JSON.stringify(message), field);
}

/** @throws message_too_large */
function checkBytes(text: string, field: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes <= MAX_MESSAGE_BYTES) return;
  throw new TurnfoldError('message_too_large', `${field}: ${bytes} bytes, at most ${MAX_MESSAGE_BYTES}`, {
    field,
    details: { bytes },
  });
}

/** Callers in JavaScript may bring anything. */
function isMapping(name: ConversationName): name is Exclude<ConversationName, string> {
  return typeof name === 'object' && name !== null;
}

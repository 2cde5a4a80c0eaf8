import { z } from 'zod';
import { writeBoundedJson } from './bounded-json.ts';
import { boundedList } from './bounded-schemas.ts';
import type { LeaveCause } from './leaving.ts';

/** Maximum UTF-8 bytes of a message (1 MiB). */
export const MAX_MESSAGE_BYTES = 1_048_576;

export const toolCallSchema = z.object({
  /**
   * Id of the tool call. In the log it is `c<seq>_<index>`. Elsewhere the caller or the provider chooses it, unique
   * within a conversation.
   */
  id: z.string().min(1).max(256),
  name: z.string().min(1).max(128),
  /** JSON object as text, exactly as the model wrote it. */
  arguments: z.string(),
  /** Id that the provider gave the call, if the log renamed it. */
  providerId: z.string().optional(),
});

/**
 * Any JSON value. The value is copied, so that reading the copy cannot throw. The size limits of a whole message apply.
 */
export const jsonSchema = z.unknown().transform((value, context): unknown => {
  if (value === undefined) return undefined;
  const written = writeBoundedJson(value, { maxCharacters: MAX_MESSAGE_BYTES });
  if (written.status === 'written') return JSON.parse(written.json);
  const { path, why, code } = written;
  context.addIssue({ code: 'custom', path: [...path], message: why, params: { code } });
  return z.NEVER;
});

/** Copied as one value, because a message of 1 MB may have 300,000 parts. */
const partsSchema = z
  .custom<unknown[]>(Array.isArray, 'expected a list')
  .pipe(jsonSchema as z.ZodType<unknown[], unknown[]>);

/**
 * Maximum number of tool calls in one message. Each result rewrites the list of open calls in Redis, which takes 16 s
 * in total for 4,000 calls.
 */
export const MAX_CALLS = 1_000;

export const messageSchema = z.object({
  /** Author of the message. `summary` marks a summary that replaces compacted messages. */
  role: z.enum(['system', 'user', 'assistant', 'tool', 'summary']),
  content: z.string(),
  toolCalls: boundedList(toolCallSchema, MAX_CALLS)
    .refine((calls) => calls.length > 0, 'expected at least one call')
    .optional(),
  /** Id of the tool call that this message answers. */
  toolCallId: z.string().min(1).max(256).optional(),
  /** In a tool result: true if the tool call failed. */
  isError: z.boolean().optional(),
  /** True if compaction should remove this message before others. */
  droppable: z.boolean().optional(),
  /** True if compaction must never remove this message or the tool round that it belongs to. */
  pinned: z.boolean().optional(),
  /**
   * In an assistant message: true if its turn was canceled while the model wrote. The content is what had been streamed.
   */
  stopped: z.boolean().optional(),
  /** Content that is not plain text, e.g. images. `content` holds the text. */
  parts: partsSchema.optional(),
  /** The provider's original item for this message, unchanged. */
  raw: jsonSchema.optional(),
  /** In a summary: the messages that it replaces. */
  summary: z
    .object({
      /** Sequence number of the first message that the summary replaces. */
      from: z.number().int().min(1),
      /** Sequence number of the last message that the summary replaces. */
      to: z.number().int().min(1),
      version: z.number().int().min(1).optional(),
    })
    .optional(),
});

export type ToolCall = z.infer<typeof toolCallSchema>;
export type Message = z.infer<typeof messageSchema>;
export type Role = Message['role'];

/** Size of a message, of a range of messages or of a context. Providers limit tokens and bytes. */
export interface Weight {
  /** Size in tokens, counted by turnfold. */
  readonly tokens: number;
  /** Size in UTF-8 bytes. */
  readonly bytes: number;
}

export const NO_WEIGHT: Weight = { tokens: 0, bytes: 0 };

export function subtractWeights(a: Weight, b: Weight): Weight {
  return { tokens: a.tokens - b.tokens, bytes: a.bytes - b.bytes };
}

export function addWeights(a: Weight, b: Weight): Weight {
  return { tokens: a.tokens + b.tokens, bytes: a.bytes + b.bytes };
}

/** A message with its size, which is counted once before the message is appended. */
export interface WeighedMessage extends Weight {
  readonly message: Message;
}

/** One entry of a conversation's log. Entries never change after they are written. */
export interface LogEntry extends WeighedMessage {
  /** Number of the entry in the log, from 1. */
  readonly seq: number;
  /** Size of the log up to and including this entry. The size of any range is the difference of two such values. */
  readonly total: Weight;
  /** Turn that wrote the entry. Absent for messages that a caller appended or imported. */
  readonly turn?: string;
  /** Time of the write in ms since epoch. */
  readonly at: number;
  /**
   * Why the message left the context when its turn was settled. Present only in the log that a client reads, for the
   * last 64 such turns.
   */
  readonly left?: LeaveCause;
}

/** Numbers messages as a log does, starting with `firstSeq`. Used for logs that are not in Redis. */
export function buildLog(
  messages: readonly WeighedMessage[],
  firstSeq = 1,
  before: Weight = NO_WEIGHT,
  at = 0,
): LogEntry[] {
  let total = before;
  return messages.map((weighed, index) => {
    total = addWeights(total, weighed);
    return { ...weighed, seq: firstSeq + index, total, at };
  });
}

/**
 * Tool result that is written for a call that was unanswered when its turn was canceled or failed. The text admits that
 * the call may have run. Its tokens are counted here, because a Redis script cannot count tokens.
 */
export const CLOSING_RESULT = {
  content: 'No result: the conversation went on before this call was answered. The call may have taken effect.',
  tokens: 24,
  bytes: 98,
} as const;

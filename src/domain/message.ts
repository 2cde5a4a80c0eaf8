import { z } from 'zod';
import { writeBoundedJson } from './bounded-json.ts';

/** UTF-8 bytes that a message may have (1 MiB). */
export const MAX_MESSAGE_BYTES = 1_048_576;

export const toolCallSchema = z.object({
  /**
   * Id of the call: `c<seq>_<index>` in the log. Elsewhere the id of the caller or provider, unique within a
   * conversation.
   */
  id: z.string().min(1).max(256),
  name: z.string().min(1).max(128),
  /** JSON object as text, exactly as the model wrote it. */
  arguments: z.string(),
  /** Id by the provider, if the log gave the call another one. */
  providerId: z.string().optional(),
});

/** Any JSON value, copied, so that reading it later cannot fail. `raw` and each part have the bounds of a message. */
export const jsonSchema = z.unknown().transform((value, context): unknown => {
  if (value === undefined) return undefined;
  const written = writeBoundedJson(value, { maxCharacters: MAX_MESSAGE_BYTES });
  if (written.status === 'written') return JSON.parse(written.json);
  const { path, why, code } = written;
  context.addIssue({ code: 'custom', path: [...path], message: why, params: { code } });
  return z.NEVER;
});

/** Copied as one value, because a message of a megabyte may have 300,000 parts. */
const partsSchema = z
  .custom<unknown[]>(Array.isArray, 'expected a list')
  .pipe(jsonSchema as z.ZodType<unknown[], unknown[]>);

/** A list whose length is checked before its members are read. A list with a length of a billion is refused at once. */
export function boundedList<Schema extends z.ZodType>(
  schema: Schema,
  most: number,
): z.ZodType<z.output<Schema>[], z.input<Schema>[]> {
  const isShort = (value: unknown): boolean => !Array.isArray(value) || value.length <= most;
  return z
    .custom<z.input<Schema>[]>(isShort, `expected at most ${most}`)
    .pipe(z.array(schema) as z.ZodType<z.output<Schema>[], z.input<Schema>[]>);
}

/**
 * Calls that one message may have. Redis rewrites the open calls with each result, which takes 16 s for 4,000 calls.
 */
export const MAX_CALLS = 1_000;

export const messageSchema = z.object({
  /** Author of the message. `summary` marks a summary. */
  role: z.enum(['system', 'user', 'assistant', 'tool', 'summary']),
  content: z.string(),
  toolCalls: boundedList(toolCallSchema, MAX_CALLS)
    .refine((calls) => calls.length > 0, 'expected at least one call')
    .optional(),
  /** Id of the call that a tool result answers. */
  toolCallId: z.string().min(1).max(256).optional(),
  /** Error mark of a tool result. */
  isError: z.boolean().optional(),
  /** Compaction removes this message before others. */
  droppable: z.boolean().optional(),
  /** Mark of a message whose whole group compaction must keep. */
  pinned: z.boolean().optional(),
  /** Content besides text, e.g. images. `content` holds the text. */
  parts: partsSchema.optional(),
  /** Item of the provider, unchanged. */
  raw: jsonSchema.optional(),
  /** Origin of a summary. */
  summary: z
    .object({
      /** First seq that the summary stands for. */
      from: z.number().int().min(1),
      /** Last seq that the summary stands for. */
      to: z.number().int().min(1),
      version: z.number().int().min(1).optional(),
    })
    .optional(),
});

export type ToolCall = z.infer<typeof toolCallSchema>;
export type Message = z.infer<typeof messageSchema>;
export type Role = Message['role'];

/** Size of a message, a range or a context. Providers limit both tokens and bytes. */
export interface Weight {
  /** Tokens by our own count. */
  readonly tokens: number;
  /** UTF-8 bytes. */
  readonly bytes: number;
}

export const NO_WEIGHT: Weight = { tokens: 0, bytes: 0 };

export function addWeights(a: Weight, b: Weight): Weight {
  return { tokens: a.tokens + b.tokens, bytes: a.bytes + b.bytes };
}

/** A message with its weight, counted once before it is appended. */
export interface WeighedMessage extends Weight {
  readonly message: Message;
}

/** One entry of a conversation's log. Entries are never changed. */
export interface LogEntry extends WeighedMessage {
  /** Position in the log, from 1. */
  readonly seq: number;
  /** Weight of the log up to and including this entry. The weight of any range is one subtraction. */
  readonly total: Weight;
  /** Turn that wrote the entry. Absent for appended and imported messages. */
  readonly turn?: string;
  /** Time of the write in ms since epoch. */
  readonly at: number;
}

/** Numbers weighed messages as a log does, from `firstSeq`. Used for logs outside of a store. */
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
 * Result for a call still open when its turn was canceled or failed. The call may have run, so the text does
 * not deny it. Counted here once, because a script cannot count.
 */
export const CLOSING_RESULT = {
  content: 'No result: the conversation went on before this call was answered. The call may have taken effect.',
  tokens: 24,
  bytes: 98,
} as const;

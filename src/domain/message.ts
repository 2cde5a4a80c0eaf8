import { z } from 'zod';
import { writeBoundedJson } from './bounded-json.ts';

/** A message may hold at most this many UTF-8 bytes (1 MiB). */
export const MAX_MESSAGE_BYTES = 1_048_576;

export const toolCallSchema = z.object({
  /** in the log `c<seq>_<index>`; elsewhere whatever the caller or provider uses, unique within a conversation */
  id: z.string().min(1).max(256),
  /** the tool */
  name: z.string().min(1).max(128),
  /** a JSON object as text, exactly as the model wrote it */
  arguments: z.string(),
  /** the provider's own id, where the log gave the call another */
  providerId: z.string().optional(),
});

/**
 * Any JSON, copied: nothing of a caller's or a provider's object is kept that could fail later. `raw` and each part have the
 * bounds of a message.
 */
export const jsonSchema = z.unknown().transform((value, context): unknown => {
  if (value === undefined) return undefined;
  const written = writeBoundedJson(value, { maxCharacters: MAX_MESSAGE_BYTES });
  if (written.status === 'written') return JSON.parse(written.json);
  const { path, why, code } = written;
  context.addIssue({ code: 'custom', path: [...path], message: why, params: { code } });
  return z.NEVER;
});

/** Copied as one value: a message of a megabyte may have 300,000 parts. */
const partsSchema = z
  .custom<unknown[]>(Array.isArray, 'expected a list')
  .pipe(jsonSchema as z.ZodType<unknown[], unknown[]>);

/** A list whose length is looked at before its members are read: one that announces a billion is refused at once. */
export function boundedList<Schema extends z.ZodType>(
  schema: Schema,
  most: number,
): z.ZodType<z.output<Schema>[], z.input<Schema>[]> {
  const isShort = (value: unknown): boolean => !Array.isArray(value) || value.length <= most;
  return z
    .custom<z.input<Schema>[]>(isShort, `expected at most ${most}`)
    .pipe(z.array(schema) as z.ZodType<z.output<Schema>[], z.input<Schema>[]>);
}

/** Calls of one message. Each result is recorded beside all calls that are still open: 4,000 calls take Redis 16 s. */
export const MAX_CALLS = 1_000;

export const messageSchema = z.object({
  /** who says it; `summary` is a summary */
  role: z.enum(['system', 'user', 'assistant', 'tool', 'summary']),
  /** its text */
  content: z.string(),
  /** of an assistant message: the calls that it makes */
  toolCalls: boundedList(toolCallSchema, MAX_CALLS)
    .refine((calls) => calls.length > 0, 'expected at least one call')
    .optional(),
  /** of a tool result: the call that it answers */
  toolCallId: z.string().min(1).max(256).optional(),
  /** of a tool result: the call failed */
  isError: z.boolean().optional(),
  /** may be removed first */
  droppable: z.boolean().optional(),
  /** protects the group that the message belongs to */
  pinned: z.boolean().optional(),
  /** content that is not text (images and the like); `content` holds its text */
  parts: partsSchema.optional(),
  /** the provider's item, verbatim */
  raw: jsonSchema.optional(),
  /** of a summary: the seqs it stands for, and the version that put it there */
  summary: z
    .object({
      /** first seq that it stands for */
      from: z.number().int().min(1),
      /** last seq that it stands for */
      to: z.number().int().min(1),
      /** the version that put it there */
      version: z.number().int().min(1).optional(),
    })
    .optional(),
});

export type ToolCall = z.infer<typeof toolCallSchema>;
export type Message = z.infer<typeof messageSchema>;
export type Role = Message['role'];

/** What a message, a range or a context weighs. Both are kept: providers limit tokens and bytes. */
export interface Weight {
  /** by our own count */
  readonly tokens: number;
  /** of UTF-8 */
  readonly bytes: number;
}

export const NO_WEIGHT: Weight = { tokens: 0, bytes: 0 };

export function addWeights(a: Weight, b: Weight): Weight {
  return { tokens: a.tokens + b.tokens, bytes: a.bytes + b.bytes };
}

/** A message with its weight, counted once, ready to be appended. */
export interface WeighedMessage extends Weight {
  /** the message */
  readonly message: Message;
}

/** One entry of a conversation's log. Never edited. */
export interface LogEntry extends WeighedMessage {
  /** its place in the log, from 1 */
  readonly seq: number;
  /** sum over the log up to and including this entry, so that any range is one subtraction */
  readonly total: Weight;
  /** the turn that wrote it; absent for appended and imported messages */
  readonly turn?: string;
  /** ms since epoch */
  readonly at: number;
}

/**
 * Result of a call that was left open when its turn was settled without an answer. The call may have run, so the text does
 * not deny it. Counted here once, because a script cannot count.
 */
export const CLOSING_RESULT = {
  content: 'No result: the conversation went on before this call was answered. Whether it took effect is unknown.',
  tokens: 24,
  bytes: 101,
} as const;

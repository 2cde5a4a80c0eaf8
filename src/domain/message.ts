import { z } from 'zod';
import { writeBoundedJson } from './bounded-json.ts';
import { boundedList } from './bounded-schemas.ts';
import { NOTE_LIMITS } from './tool-notes.ts';

export const MAX_MESSAGE_BYTES = 1_048_576;

export const toolCallSchema = z.object({
  /** `c<seq>_<index>` in the log. Elsewhere a caller or a provider chooses it, unique within a conversation. */
  id: z.string().min(1).max(256),
  name: z.string().min(1).max(128),
  /** JSON object as text, exactly as the model wrote it. */
  arguments: z.string(),
  /** Id that the provider gave the call, if the log renamed it. */
  providerId: z.string().optional(),
});

/** Any JSON value, copied so that reading it never throws. */
export const jsonSchema = z.unknown().transform((value, context): unknown => {
  if (value === undefined) return undefined;
  const written = writeBoundedJson(value, { maxCharacters: MAX_MESSAGE_BYTES });
  if (written.status === 'written') return JSON.parse(written.json);
  const { path, why, code } = written;
  context.addIssue({ code: 'custom', path: [...path], message: why, params: { code } });
  return z.NEVER;
});

/** All parts are copied as one value, because a message of 1 MB may have 300,000 parts. */
const partsSchema = z
  .custom<unknown[]>(Array.isArray, 'expected a list')
  .pipe(jsonSchema as z.ZodType<unknown[], unknown[]>);

/** Maximum calls of a message. Each result rewrites the list of open calls in Redis: 16 s in total for 4,000 calls. */
export const MAX_CALLS = 1_000;

export const decisionSchema = z.object({
  /** True if the call was approved, false if denied. Absent for a delivered result. */
  approved: z.boolean().optional(),
  /** In ms since epoch, by the clock of Redis. */
  at: z.number(),
  /** Person who decided, as named by the caller of `answer`. */
  by: z.string().optional(),
});

export const messageSchema = z.object({
  /** `summary` stands for compacted messages. */
  role: z.enum(['system', 'user', 'assistant', 'tool', 'summary']),
  content: z.string(),
  toolCalls: boundedList(toolCallSchema, MAX_CALLS)
    .refine((calls) => calls.length > 0, 'expected at least one call')
    .optional(),
  /** Id of the tool call that this message answers. */
  toolCallId: z.string().min(1).max(256).optional(),
  /** In a tool result: the call failed. */
  isError: z.boolean().optional(),
  /** In a tool result: the last values that the tool emitted for readers. No model reads them. */
  data: boundedList(
    z.object({
      name: z.string().min(1),
      /** Distinguishes values of one name. */
      key: z.string().min(1).optional(),
      /** Any JSON value. */
      data: jsonSchema,
    }),
    NOTE_LIMITS.values,
  ).optional(),
  /** In a tool result: decision of a person, or of the deadline, on a call that needed an approval. */
  decision: decisionSchema.optional(),
  /** Compaction should remove this message before others. */
  droppable: z.boolean().optional(),
  /** Compaction must never remove this message or its tool round. */
  pinned: z.boolean().optional(),
  /** In an assistant message: its turn was canceled, and the content is the streamed part. */
  stopped: z.boolean().optional(),
  /** In an assistant message: reasoning that the provider showed. No model reads it. */
  reasoning: z.string().optional(),
  /** Content that is not plain text, e.g. images. `content` holds the text. */
  parts: partsSchema.optional(),
  /** The provider's original item, unchanged. */
  raw: jsonSchema.optional(),
  /** In a summary: the seqs that it replaces. */
  summary: z
    .object({
      from: z.number().int().min(1),
      to: z.number().int().min(1),
      version: z.number().int().min(1).optional(),
    })
    .optional(),
});

export const LEAVE_CAUSES = ['refused', 'too_large', 'rolled_back'] as const;
/** `refused`: a provider refused what the messages say or hold. `too_large`: the messages alone exceed the window. */
export type LeaveCause = (typeof LEAVE_CAUSES)[number];

/** The messages from this seq to the end of the turn leave the context. */
export interface Leaving {
  readonly from: number;
  readonly why: LeaveCause;
}

export type ToolCall = z.infer<typeof toolCallSchema>;
export type Message = z.infer<typeof messageSchema>;
export type Role = Message['role'];

/** Longest reasoning that a message keeps, in characters. Its end is left out. */
export const MAX_REASONING_CHARACTERS = 65_536;
/** Longest reasoning of a stopped message, in bytes of UTF-8: Redis cuts it, and Redis counts bytes. */
const MAX_STOPPED_REASONING_BYTES = 65_536;
/** A cut never splits a character, so a text that was cut may have some bytes less than its limit. */
const MAX_CHARACTER_BYTES = 4;

/** Returns the reasoning of a message, or undefined if the message may lack the reasoning or its end. */
export function wholeReasoning({
  reasoning,
  stopped = false,
}: Pick<Message, 'reasoning' | 'stopped'>): string | undefined {
  if (reasoning === undefined || reasoning.length >= MAX_REASONING_CHARACTERS) return undefined;
  const mayBeCut = stopped && Buffer.byteLength(reasoning) > MAX_STOPPED_REASONING_BYTES - MAX_CHARACTER_BYTES;
  return mayBeCut ? undefined : reasoning;
}

/** Messages as models read them: a model gets its reasoning only as the provider's own items (`raw`). */
export function withoutReasoning(messages: readonly Message[]): readonly Message[] {
  if (messages.every(({ reasoning }) => reasoning === undefined)) return messages;
  return messages.map(({ reasoning: _, ...message }) => message);
}

/** Size in tokens, counted by turnfold, and in UTF-8 bytes. Providers limit both. */
export interface Weight {
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

export interface WeighedMessage extends Weight {
  readonly message: Message;
}

/** Entries never change after they are written. */
export interface LogEntry extends WeighedMessage {
  /** Position in the log, from 1. */
  readonly seq: number;
  /** Size of the log up to and including this entry. The size of any range is the difference of two such values. */
  readonly total: Weight;
  /** Absent for messages that a caller appended or imported. */
  readonly turn?: string;
  /** Ms since epoch. */
  readonly at: number;
  /** Present only in the log that a client reads, for the last 64 turns whose messages left the context. */
  readonly left?: LeaveCause;
}

/** Makes log entries of messages: numbers them from `firstSeq`, and adds up their sizes. */
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

/** Answer to a call whose turn ended. Redis scripts cannot count tokens, so the count is here. */
export const CLOSING_RESULT = {
  content: 'No result: the conversation went on before this call was answered. The call may have taken effect.',
  tokens: 24,
  bytes: 98,
} as const;

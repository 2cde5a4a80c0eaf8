import { z } from 'zod';

/** A message may hold at most this many UTF-8 bytes (1 MiB). */
export const MAX_MESSAGE_BYTES = 1_048_576;

export const toolCallSchema = z.object({
  /** in the log `c<seq>_<index>`; elsewhere whatever the caller or provider uses, unique within a conversation */
  id: z.string().min(1).max(256),
  name: z.string().min(1).max(128),
  /** a JSON object as text, exactly as the model wrote it */
  arguments: z.string(),
  /** the provider's own id, where the log gave the call another */
  providerId: z.string().optional(),
});

export const messageSchema = z.object({
  role: z.enum(['system', 'user', 'assistant', 'tool', 'checkpoint']),
  content: z.string(),
  toolCalls: z.array(toolCallSchema).min(1).optional(),
  /** of a tool result: the call that it answers */
  toolCallId: z.string().min(1).max(256).optional(),
  isError: z.boolean().optional(),
  /** may be removed first */
  droppable: z.boolean().optional(),
  /** protects the group that the message belongs to */
  pinned: z.boolean().optional(),
  /** content that is not text (images and the like); `content` holds its text */
  parts: z.array(z.unknown()).optional(),
  /** the provider's item, verbatim */
  raw: z.unknown().optional(),
  /** of a checkpoint: the seqs it stands for, and the version that put it there */
  checkpoint: z
    .object({
      from: z.number().int().min(1),
      to: z.number().int().min(1),
      version: z.number().int().min(1).optional(),
    })
    .optional(),
});

export type ToolCall = z.infer<typeof toolCallSchema>;
export type Message = z.infer<typeof messageSchema>;
export type Role = Message['role'];

/** What a message, a range or a context weighs. Both are kept: providers limit tokens and bytes. */
export interface Weight {
  readonly tokens: number;
  readonly bytes: number;
}

export const NO_WEIGHT: Weight = { tokens: 0, bytes: 0 };

export function addWeights(a: Weight, b: Weight): Weight {
  return { tokens: a.tokens + b.tokens, bytes: a.bytes + b.bytes };
}

/** A message with its weight, counted once, ready to be appended. */
export interface WeighedMessage extends Weight {
  readonly message: Message;
}

/** One entry of a conversation's log. Never edited. */
export interface LogEntry extends WeighedMessage {
  readonly seq: number;
  /** sum over the log up to and including this entry, so that any range is one subtraction */
  readonly total: Weight;
  /** the turn that wrote it; absent for appended and imported messages */
  readonly turn?: string;
  /** ms since epoch */
  readonly at: number;
}

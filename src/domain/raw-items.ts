import { z } from 'zod';
import type { Message } from './message.ts';

/** Wire formats in which a request can be sent. */
export const WIRE_FORMATS = ['anthropic', 'openai-chat', 'openai-responses'] as const;
export type WireFormat = (typeof WIRE_FORMATS)[number];

/**
 * Unchanged items of a provider's answer, kept beside our form of the same message. Signed thinking, encrypted
 * reasoning and a provider's own compaction have no other form. Another format or model cannot use them.
 */
export const rawItemsSchema = z.object({
  format: z.enum(WIRE_FORMATS),
  /** Name by the provider of the model that wrote the items. */
  model: z.string().min(1),
  /**
   * Number of the version that was sent. Thinking depends on everything before it, and is invalid under another
   * version.
   */
  version: z.number().int().min(0).optional(),
  /** Fingerprint of the system texts and tools that were sent, if thinking depends on them too (`Rendered.prefix` of `src/wire`). */
  prefix: z.string().optional(),
  /** Content blocks (Anthropic), the one message (Chat), or output items (Responses). */
  items: z.array(z.record(z.string(), z.unknown())),
});

export type RawItems = z.infer<typeof rawItemsSchema>;
export type RawItem = RawItems['items'][number];

/** @returns undefined if the message has none, or if no renderer knows its items */
export function readRawItems(message: Pick<Message, 'raw'>): RawItems | undefined {
  if (message.raw === undefined) return undefined;
  const read = rawItemsSchema.safeParse(message.raw);
  return read.success ? read.data : undefined;
}

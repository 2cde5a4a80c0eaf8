import { z } from 'zod';
import type { Message } from './message.ts';

/** The wire formats in which a request can be sent. */
export const WIRE_FORMATS = ['anthropic', 'openai-chat', 'openai-responses'] as const;
export type WireFormat = (typeof WIRE_FORMATS)[number];

/**
 * What a provider answered, verbatim, beside our parts of the same message: signed thinking, encrypted reasoning and a
 * provider's own compaction have no other form. An item means nothing in another format or to another model.
 */
export const rawItemsSchema = z.object({
  format: z.enum(WIRE_FORMATS),
  /** the provider's name of the model that wrote it */
  model: z.string().min(1),
  /** number of the version that was sent: thinking is bound to everything before it, and holds under no other */
  version: z.number().int().min(0).optional(),
  /** fingerprint of the system texts and tools that were sent, where thinking is bound to them too (`Marks.prefix`) */
  prefix: z.string().optional(),
  /** Anthropic: content blocks; Chat: the one message; Responses: output items */
  items: z.array(z.record(z.string(), z.unknown())),
});

export type RawItems = z.infer<typeof rawItemsSchema>;
export type RawItem = RawItems['items'][number];

/** Undefined where a message has none, or one that no renderer knows. */
export function readRawItems(message: Pick<Message, 'raw'>): RawItems | undefined {
  if (message.raw === undefined) return undefined;
  const read = rawItemsSchema.safeParse(message.raw);
  return read.success ? read.data : undefined;
}

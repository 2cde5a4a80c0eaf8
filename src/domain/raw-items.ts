import { z } from 'zod';
import { boundedList, boundedRecord } from './bounded-schemas.ts';
import type { Message } from './message.ts';

/** Maximum items of an answer, and fields of an item. No provider's answer has so many. */
const [MAX_ITEMS, MAX_FIELDS] = [10_000, 1_000];

export const WIRE_FORMATS = ['anthropic', 'openai-chat', 'openai-responses'] as const;
export type WireFormat = (typeof WIRE_FORMATS)[number];

const RAW_FORMATS = [...WIRE_FORMATS, 'ai-sdk'] as const;
export type RawFormat = (typeof RAW_FORMATS)[number];

/**
 * Only the original items hold signed thinking, encrypted reasoning and the provider's own compaction. Another format
 * or model cannot use them.
 */
export const rawItemsSchema = z.object({
  /** Format of the items. */
  format: z.enum(RAW_FORMATS),
  /** Model that wrote the items, by the provider's name. */
  model: z.string().min(1),
  /**
   * Version of the context that was sent. Thinking depends on all earlier content, so another version makes it invalid.
   */
  version: z.number().int().min(0).optional(),
  /** Fingerprint of the system texts and tools, if thinking depends on them (`Rendered.prefix` in `src/wire`). */
  prefix: z.string().optional(),
  /**
   * Content blocks (Anthropic), one message (OpenAI Chat), output items (OpenAI Responses), or content parts (AI SDK).
   */
  items: boundedList(boundedRecord(z.string(), z.unknown(), MAX_FIELDS), MAX_ITEMS),
});

export type RawItems = z.infer<typeof rawItemsSchema>;
export type RawItem = RawItems['items'][number];

export function readRawItems(message: Pick<Message, 'raw'>): RawItems | undefined {
  if (message.raw === undefined) return undefined;
  const read = rawItemsSchema.safeParse(message.raw);
  return read.success ? read.data : undefined;
}

const THINKING_TYPES: ReadonlySet<unknown> = new Set(['thinking', 'redacted_thinking', 'reasoning']);

export function isThinking(item: { readonly type?: unknown }): boolean {
  return THINKING_TYPES.has(item.type);
}

/** Finds the model of the last answer with items of this format. A request to another model leaves out its thinking. */
export function findLastModel(messages: readonly Pick<Message, 'raw'>[], format: WireFormat): string | undefined {
  return messages.map(readRawItems).findLast((raw) => raw?.format === format)?.model;
}

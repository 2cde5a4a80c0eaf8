import { z } from 'zod';
import { boundedList, boundedRecord } from './bounded-schemas.ts';
import type { Message } from './message.ts';

/** More items than one answer of a provider has, and more fields than one item has. */
const [MAX_ITEMS, MAX_FIELDS] = [10_000, 1_000];

/** Wire formats in which a model request can be sent. */
export const WIRE_FORMATS = ['anthropic', 'openai-chat', 'openai-responses'] as const;
export type WireFormat = (typeof WIRE_FORMATS)[number];

/** Forms in which provider items are stored: the wire formats, and the content parts of AI SDK models. */
export const RAW_FORMATS = [...WIRE_FORMATS, 'ai-sdk'] as const;
export type RawFormat = (typeof RAW_FORMATS)[number];

/**
 * The provider's original items for a message, stored beside turnfold's form of it. Signed thinking, encrypted
 * reasoning and the provider's own compaction exist only there. Another wire format or model cannot use them.
 */
export const rawItemsSchema = z.object({
  /** Format of the items. */
  format: z.enum(RAW_FORMATS),
  /** Model that wrote the items, by the provider's name for it. */
  model: z.string().min(1),
  /**
   * Number of the context version that was sent. Thinking depends on all earlier content, so it is invalid under
   * another version.
   */
  version: z.number().int().min(0).optional(),
  /**
   * Fingerprint of the system texts and tools that were sent, if thinking depends on them (`Rendered.prefix` in
   * `src/wire`).
   */
  prefix: z.string().optional(),
  /** Content blocks (Anthropic), the single message (OpenAI Chat), output items (OpenAI Responses), or content parts (AI SDK). */
  items: boundedList(boundedRecord(z.string(), z.unknown(), MAX_FIELDS), MAX_ITEMS),
});

export type RawItems = z.infer<typeof rawItemsSchema>;
export type RawItem = RawItems['items'][number];

/** @returns undefined if the message has no raw items, or if its raw items do not match `rawItemsSchema` */
export function readRawItems(message: Pick<Message, 'raw'>): RawItems | undefined {
  if (message.raw === undefined) return undefined;
  const read = rawItemsSchema.safeParse(message.raw);
  return read.success ? read.data : undefined;
}

/** Types of items that hold a model's thinking. */
const THINKING_TYPES: ReadonlySet<unknown> = new Set(['thinking', 'redacted_thinking', 'reasoning']);

export function isThinking(item: { readonly type?: unknown }): boolean {
  return THINKING_TYPES.has(item.type);
}

/** Finds the model that wrote the last answer in this format. Recorded thinking may be sent only to that model. */
export function findLastModel(messages: readonly Pick<Message, 'raw'>[], format: WireFormat): string | undefined {
  return messages.map(readRawItems).findLast((raw) => raw?.format === format)?.model;
}

import type { Message } from '../../domain/message.ts';
import { isThinking, type RawItem, type RawItems, readRawItems } from '../../domain/raw-items.ts';

export interface MessageThinking {
  /** Text of the thinking. Empty if the provider encrypted all of it. */
  readonly text: string;
  /** Version for which the model wrote the thinking. Providers accept signed thinking only with that version. */
  readonly version: number;
}

/** Fields with thinking in OpenAI's chat format, the preferred one first. */
const CHAT_FIELDS = ['reasoning_content', 'reasoning'] as const;

export function readThinking(message: Message): MessageThinking | undefined {
  // Only answers of models have provider items. Reading these items takes longer than all other work.
  if (message.role !== 'assistant' || message.raw === undefined) return undefined;
  const raw = readRawItems(message);
  if (raw === undefined) return undefined;
  const texts = listTexts(raw);
  return texts.length === 0 ? undefined : { text: texts.join('\n'), version: raw.version ?? 0 };
}

function listTexts({ format, items }: RawItems): string[] {
  if (format === 'openai-chat') {
    return items.flatMap((item) => {
      const field = CHAT_FIELDS.find((name) => typeof item[name] === 'string' && item[name] !== '');
      return field === undefined ? [] : [String(item[field])];
    });
  }
  return items.filter(isThinking).map(textOfItem);
}

/** Anthropic has the field `thinking`, the AI SDK `text`, and OpenAI Responses a list of summaries. */
function textOfItem({ thinking, text, summary }: RawItem): string {
  if (typeof thinking === 'string') return thinking;
  if (typeof text === 'string') return text;
  const parts: unknown[] = Array.isArray(summary) ? summary : [];
  return parts.flatMap((part) => (hasText(part) ? [part.text] : [])).join('\n');
}

function hasText(part: unknown): part is { readonly text: string } {
  return typeof part === 'object' && part !== null && 'text' in part && typeof part.text === 'string';
}

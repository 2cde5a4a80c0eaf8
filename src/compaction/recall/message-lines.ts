import type { Message } from '../../domain/message.ts';
import { readParts } from '../../domain/parts.ts';
import { renderCall, splitFragments } from '../evidence/fragments.ts';

export const RECALL = 'recall';

/** Text that the tool `recall` shows: texts and tool calls, except calls of `recall`. */
export function recallText({ content, parts, toolCalls = [] }: Message): string {
  const texts = readParts({ content, parts }).flatMap((part) => (part.kind === 'text' ? [part.text] : []));
  const calls = toolCalls.flatMap((call) => (call.name === RECALL ? [] : [renderCall(call).trim()]));
  return [...texts, ...calls].join('\n');
}

export type LinePlace = readonly [start: number, end: number];

/** Lines of a message, as both the index and the reader of its matches see them. */
export class MessageLines {
  /** Normalized text: texts that look equal have the same characters, and no half of a surrogate pair stands alone. */
  readonly text: string;
  #folded: string | undefined;

  constructor(message: Message) {
    this.text = canonical(recallText(message));
  }

  /** Text in lower case for comparisons, of the same length. */
  get folded(): string {
    this.#folded ??= fold(this.text);
    return this.#folded;
  }

  places(): Generator<LinePlace> {
    return splitFragments(this.text);
  }
}

export function canonical(text: string): string {
  return text.normalize('NFC').toWellFormed();
}

/** Lower case of the same length. The lower case of `İ` would be longer, and that of `Σ` depends on its neighbours. */
export function fold(text: string): string {
  return text.replaceAll('İ', 'i').toLowerCase().replaceAll('ς', 'σ');
}

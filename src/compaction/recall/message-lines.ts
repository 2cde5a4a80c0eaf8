import type { Message } from '../../domain/message.ts';
import { readParts } from '../../domain/parts.ts';
import { describeCall, splitFragments } from '../evidence/fragments.ts';

/** Name of the tool with which a model searches and reads its conversation's log. */
export const RECALL = 'recall';

/** Returns the text of a message as recall shows it: its texts and its tool calls, except calls of `recall`. */
export function recallText({ content, parts, toolCalls = [] }: Message): string {
  const texts = readParts({ content, parts }).flatMap((part) => (part.kind === 'text' ? [part.text] : []));
  const calls = toolCalls.flatMap((call) => (call.name === RECALL ? [] : [describeCall(call).trim()]));
  return [...texts, ...calls].join('\n');
}

/** Start and end of a line, or of a piece of a long line. */
export type LinePlace = readonly [start: number, end: number];

/** A message as it is searched. The index and the reader of its matches see the same lines. */
export class MessageLines {
  /** Text of the message, normalized: texts that look equal have the same characters, and no halves of pairs. */
  readonly text: string;
  #folded: string | undefined;

  constructor(message: Message) {
    this.text = canonical(recallText(message));
  }

  /** The text for comparisons, of the same length. */
  get folded(): string {
    this.#folded ??= fold(this.text);
    return this.#folded;
  }

  /** Start and end of each line. Blank lines are left out. */
  places(): Generator<LinePlace> {
    return splitFragments(this.text);
  }
}

export function canonical(text: string): string {
  return text.normalize('NFC').toWellFormed();
}

/**
 * Converts to lower case without changing the length of the text. Two letters are replaced first: the lower case of one
 * is longer, that of the other depends on its neighbours.
 */
export function fold(text: string): string {
  return text.replaceAll('İ', 'i').toLowerCase().replaceAll('ς', 'σ');
}

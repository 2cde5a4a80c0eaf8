import type { Message } from '../../../src/domain/message.ts';
import { type Frequencies, findReused, textOf, type Use } from '../../../src/evaluation/quality/needles.ts';
import { holds, renderMessage } from '../../../src/evaluation/quality/searchable-text.ts';

/** An identifier or rare word of the source that the agent uses soon after the cut. */
export interface Needle extends Use {
  readonly text: string;
  readonly isFromUser: boolean;
  /** Share of the source after the needle's last occurrence. */
  readonly age: number;
  /** Number of source messages that hold the needle. */
  readonly messages: number;
}

/** Finds the needles of a cut: see `findReused`. @param cut index of the first message after the cut */
export function findNeedles(messages: readonly Message[], cut: number, vocabulary: Frequencies): Needle[] {
  const before = new Source(messages.slice(0, cut));
  const isInSource = (text: string): boolean => before.holds(text);
  const reused = findReused(messages, cut, { ...vocabulary, isInSource });
  return [...reused].map(([text, use]) => ({ text, ...use, ...before.placeOf(text) }));
}

class Source {
  readonly #rendered: readonly string[];
  readonly #text: string;
  readonly #userText: string;

  constructor(messages: readonly Message[]) {
    this.#rendered = messages.filter(({ role }) => role !== 'system').map(renderMessage);
    this.#text = this.#rendered.join('\n');
    this.#userText = textOf(messages, 'user');
  }

  holds(text: string): boolean {
    return holds(this.#text, text);
  }

  placeOf(text: string): Pick<Needle, 'age' | 'messages' | 'isFromUser'> {
    return {
      age: 1 - this.#text.lastIndexOf(text) / this.#text.length,
      messages: this.#rendered.filter((one) => holds(one, text)).length,
      isFromUser: holds(this.#userText, text),
    };
  }
}

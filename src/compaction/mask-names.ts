import { endsSlice, type Interruptible } from '../domain/interruptible.ts';
import type { Message } from '../domain/message.ts';
import { partTexts, splitFragments } from './evidence/fragments.ts';
import { TermIndex } from './evidence/term-index.ts';
import { shapeOf } from './evidence/term-shape.ts';
import { scanPlaces } from './evidence/terms.ts';

const READ_CHARS = 8_192;
const MIN_NUMBER_CHARS = 3;

/**
 * Finds the names that the agent used after each result, the most used first. Plain words are no names.
 * @param results indexes of the results
 */
export function* findUsedNames(
  messages: readonly Message[],
  results: ReadonlySet<number>,
): Interruptible<Map<number, string[]>> {
  const named = new NamesOfResults();
  for (const index of results) {
    named.read(index, messages[index] as Message);
    yield;
  }
  const oldest = Math.min(...results);
  const found = new Map<number, string[]>();
  // The loop runs from the end, so that the counted uses are those after the result.
  for (let index = messages.length - 1; index >= oldest; index -= 1) {
    const message = messages[index] as Message;
    if (message.role === 'assistant') named.countUses(message);
    else if (results.has(index)) found.set(index, named.usedNames(index));
    if (endsSlice(index)) yield;
  }
  return found;
}

class NamesOfResults {
  readonly #index = new TermIndex();
  readonly #isName: boolean[] = [];
  readonly #uses: number[] = [];
  readonly #lastUsers: (Message | undefined)[] = [];
  readonly #ofResult = new Map<number, Set<number>>();

  read(result: number, message: Message): void {
    const names = new Set<number>();
    scanMessage(message, (text, start, end) => {
      const term = this.#index.addPart(text, start, end);
      if (term === this.#uses.length) {
        this.#isName.push(isName(this.#index.textOf(term)));
        this.#uses.push(0);
        this.#lastUsers.push(undefined);
      }
      if (this.#isName[term] === true) names.add(term);
    });
    this.#ofResult.set(result, names);
  }

  countUses(message: Message): void {
    scanMessage(message, (text, start, end) => {
      const term = this.#index.findPart(text, start, end);
      if (term === undefined || this.#lastUsers[term] === message) return;
      this.#lastUsers[term] = message;
      this.#uses[term] = (this.#uses[term] as number) + 1;
    });
  }

  usedNames(result: number): string[] {
    const uses = this.#uses;
    const used = [...(this.#ofResult.get(result) ?? [])].filter((term) => (uses[term] as number) > 0);
    return used.toSorted((a, b) => (uses[b] as number) - (uses[a] as number)).map((term) => this.#index.textOf(term));
  }
}

function scanMessage(message: Message, visit: (text: string, start: number, end: number) => void): void {
  for (const { text } of partTexts(message)) {
    const read = text.slice(0, READ_CHARS);
    for (const [start, end] of splitFragments(read)) scanPlaces(read, start, end, (from, to) => visit(read, from, to));
  }
}

function isName(term: string): boolean {
  const { isNumber, chars, hasDigit, hasLetter, hasInnerCapital, hasUnderscore, isPath, isJoined } = shapeOf(term);
  if (isNumber) return chars >= MIN_NUMBER_CHARS;
  // A word with hyphens and no other mark is most likely a plain word.
  const isCode = hasLetter && (hasDigit || hasUnderscore);
  return isCode || hasInnerCapital || isPath || (isJoined && /[.:@#\d]/.test(term));
}

import { partsOf, splitFragments } from '../evidence/fragments.ts';
import { shapeOf } from '../evidence/term-shape.ts';
import { scanTerms } from '../evidence/terms.ts';
import type { Message } from '../message.ts';
import { endsSlice, type Sliced } from '../sliced.ts';

/** Characters that are read of a text. Longer results name what matters at their start or in the agent's own words. */
const READ_CHARS = 8_192;
const MIN_NUMBER_CHARS = 3;

/**
 * Finds the names in old tool results that the agent used after them, in its text or in a call. Plain words are no names.
 * @param messages messages of the context, oldest first
 * @param results indexes of the results
 * @returns names of each result, the most used first
 */
export function* findUsedNames(
  messages: readonly Message[],
  results: ReadonlySet<number>,
): Sliced<Map<number, string[]>> {
  const uses = new Map<string, number>();
  const found = new Map<number, string[]>();
  const oldest = Math.min(...results);
  // From the end, so that `uses` holds what the agent said after the result that is read.
  for (let index = messages.length - 1; index >= oldest; index -= 1) {
    const message = messages[index] as Message;
    if (message.role === 'assistant') {
      for (const name of namesOf(message)) uses.set(name, (uses.get(name) ?? 0) + 1);
    } else if (results.has(index)) {
      const used = [...namesOf(message)].filter((name) => uses.has(name));
      found.set(
        index,
        used.toSorted((a, b) => (uses.get(b) ?? 0) - (uses.get(a) ?? 0)),
      );
    }
    if (endsSlice(index) || results.has(index)) yield;
  }
  return found;
}

/** Names of a message, in the order of their first place. */
function namesOf(message: Message): Set<string> {
  const names = new Set<string>();
  for (const { text } of partsOf(message)) {
    const read = text.slice(0, READ_CHARS);
    for (const [start, end] of splitFragments(read)) {
      scanTerms(read, start, end, (term) => {
        if (isName(term)) names.add(term);
      });
    }
  }
  return names;
}

function isName(term: string): boolean {
  const { isNumber, chars, hasDigit, hasLetter, hasInnerCapital, hasUnderscore, isPath, isJoined } = shapeOf(term);
  if (isNumber) return chars >= MIN_NUMBER_CHARS;
  // A word with hyphens alone is most likely a plain word.
  const isCode = hasLetter && (hasDigit || hasUnderscore);
  return isCode || hasInnerCapital || isPath || (isJoined && /[.:@#\d]/.test(term));
}

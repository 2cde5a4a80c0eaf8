import { endsSlice, type Sliced } from '../sliced.ts';
import { classOf, DIGIT, IDEOGRAPH, LOWER, UPPER } from './characters.ts';
import type { Fragment, Ledger } from './ledger.ts';
import { TermIndex } from './term-index.ts';

/** Figures of a whole source. They are computed once and used for every term. */
export interface SourceFacts {
  readonly messages: number;
  /** Characters of the source after each message. */
  readonly charsAfter: Float64Array;
  /** Terms of each result, by its message. A repeated term counts once a line. */
  readonly resultTerms: Float64Array;
  /** Number of terms with the same pattern that a user or a result brought, by term. */
  readonly alike: Float64Array;
}

export function* readFacts(ledger: Ledger): Sliced<SourceFacts> {
  const texts = yield* readTexts(ledger);
  const alike = yield* countAlike(ledger);
  return { messages: ledger.messages, ...texts, alike };
}

function* readTexts({ fragments, messages }: Ledger): Sliced<Pick<SourceFacts, 'charsAfter' | 'resultTerms'>> {
  const charsAfter = new Float64Array(messages);
  const resultTerms = new Float64Array(messages);
  let chars = 0;
  let next = messages - 1;
  for (let index = fragments.length - 1; index >= 0; index -= 1) {
    const { message, part, text, terms } = fragments[index] as Fragment;
    for (; next >= message; next -= 1) charsAfter[next] = chars;
    chars += text.length;
    if (part === 'result') resultTerms[message] = (resultTerms[message] as number) + terms.length;
    if (endsSlice(index)) yield;
  }
  charsAfter.fill(chars, 0, next + 1);
  return { charsAfter, resultTerms };
}

function* countAlike({ terms }: Ledger): Sliced<Float64Array> {
  const patterns = new TermIndex();
  const patternOfTerm = new Int32Array(terms.length);
  const counts: number[] = [];
  for (const [index, { text, firstPart }] of terms.entries()) {
    const pattern = patterns.add(patternOf(text));
    patternOfTerm[index] = pattern;
    const isBrought = firstPart === 'user' || firstPart === 'result';
    counts[pattern] = (counts[pattern] ?? 0) + Number(isBrought);
    if (endsSlice(index)) yield;
  }
  return Float64Array.from(patternOfTerm, (pattern) => counts[pattern] as number);
}

const LETTERS: Readonly<Record<number, string>> = { [LOWER]: 'a', [UPPER]: 'A', [IDEOGRAPH]: '字', [DIGIT]: '0' };

/** Runs of letters become one letter, and digits become 0: `gift_card_5634` has the pattern `a_a_0000`. */
function patternOf(term: string): string {
  let pattern = '';
  let before = -1;
  for (let at = 0; at < term.length; at += 1) {
    const found = classOf(term.charCodeAt(at));
    if (found !== before || found === DIGIT) pattern += LETTERS[found] ?? term[at];
    before = found;
  }
  return pattern;
}

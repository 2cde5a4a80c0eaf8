import { endsSlice, type Interruptible } from '../../domain/interruptible.ts';
import type { Fragment, Ledger, Term } from './ledger.ts';

/** Measures of the whole ledger, from which `FEATURES` computes the features of single terms. */
export interface LedgerMeasures {
  readonly messages: number;
  readonly charsAfter: Float64Array;
  /** Number of terms in each result, by its message. A repeated term counts once per line. */
  readonly resultTerms: Float64Array;
  /** By term: largest share of other terms on one of its lines that the agent used lately. Rare terms weigh more. */
  readonly company: Float64Array;
}

export function* measureLedger(ledger: Ledger): Interruptible<LedgerMeasures> {
  const texts = yield* readTexts(ledger);
  const company = yield* readCompany(ledger);
  return { messages: ledger.messages, ...texts, company };
}

function* readTexts({
  fragments,
  messages,
}: Ledger): Interruptible<Pick<LedgerMeasures, 'charsAfter' | 'resultTerms'>> {
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

/** A term counts as used lately if the agent used it in this number of last messages. */
const LATE_MESSAGES = 6;
/** Weight of an imagined, unused term in each line, so that a line of two terms counts less than a line of ten. */
const PRIOR = 0.3;

function* readCompany({ terms, fragments, messages }: Ledger): Interruptible<Float64Array> {
  const company = new Float64Array(terms.length);
  const weights = new Float64Array(terms.length);
  const used = new Float64Array(terms.length);
  for (const [index, term] of terms.entries()) {
    weights[index] = 1 / term.messages;
    if (isUsedLately(term, messages)) used[index] = 1 / term.messages;
    if (endsSlice(index)) yield;
  }
  for (const [at, fragment] of fragments.entries()) {
    let [all, late] = [PRIOR, 0];
    for (const term of fragment.terms) {
      all += weights[term] as number;
      late += used[term] as number;
    }
    for (const term of late > 0 ? fragment.terms : []) {
      const share = (late - (used[term] as number)) / (all - (weights[term] as number));
      company[term] = Math.max(company[term] as number, share);
    }
    if (endsSlice(at)) yield;
  }
  return company;
}

function isUsedLately({ lastByPart: { statement, call } }: Term, messages: number): boolean {
  return Math.max(statement, call) >= Math.max(0, messages - LATE_MESSAGES);
}

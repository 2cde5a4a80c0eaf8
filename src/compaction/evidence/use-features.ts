import type { Term } from './ledger.ts';
import type { LedgerMeasures } from './ledger-measures.ts';
import type { TermShape } from './term-shape.ts';

interface SeenTerm {
  readonly term: Term;
  readonly shape: TermShape;
  readonly index: number;
  readonly measures: LedgerMeasures;
}

/** Characters in one unit of distance, about 200 tokens. */
const CHARS_A_STEP = 700;

/**
 * Features of a term that best predict its use, of 70 tried features. `scripts/fit-use-weights.ts` fits the weights.
 */
export const FEATURES = {
  age: ({ term, measures }) => Math.log1p(measures.messages - 1 - term.last),
  /** Length of the text after the only message with the term. 0 for a term in several messages. */
  distanceIfOnce: ({ term, measures }) =>
    term.messages === 1 ? Math.log1p((measures.charsAfter[term.last] as number) / CHARS_A_STEP) : 0,
  occurrences: ({ term }) => Math.log1p(term.occurrences),
  called: ({ term }) => Number(term.messagesByPart.call > 0),
  said: ({ term }) => Number(term.messagesByPart.statement > 0),
  /** The agent has lately used other terms on the term's line. */
  company: ({ index, measures }) => measures.company[index] as number,
  inResult: ({ term }) => Number(term.messagesByPart.result > 0),
  /** True if a result contained the term before any other message did. */
  fromResult: ({ term }) => Number(term.firstPart === 'result'),
  /** Number of terms in the last result that holds the term. A name in a long listing is one of many. */
  crowd: ({ term, measures }) => Math.log1p(measures.resultTerms[term.lastByPart.result] ?? 0),
  /** Share of the term's occurrences as a key. A key is the name of a field, not the value that is needed. */
  asKey: ({ term }) => term.asKey / term.occurrences,
  plain: ({ shape }) => Number(shape.isPlain),
  length: ({ shape }) => Math.log1p(shape.chars),
} satisfies Record<string, (seen: SeenTerm) => number>;

export type Feature = keyof typeof FEATURES;
export const FEATURE_NAMES = Object.keys(FEATURES) as readonly Feature[];

/** Weights of a feature: one for the term's own value, one for the mean of its peers. */
export interface FeatureWeights {
  readonly own: number;
  readonly peers: number;
}

export interface UseWeights {
  readonly bias: number;
  readonly features: Readonly<Record<Feature, FeatureWeights>>;
}

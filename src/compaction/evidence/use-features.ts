import type { Term } from './ledger.ts';
import type { SourceFacts } from './source-facts.ts';
import type { TermShape } from './term-shape.ts';

interface SeenTerm {
  readonly term: Term;
  readonly shape: TermShape;
  readonly index: number;
  readonly facts: SourceFacts;
}

/** About 200 tokens. */
const CHARS_A_STEP = 700;

/** `scripts/fit-use-weights.ts` fits the weights of these features. They remain of 70 that were tried. */
export const FEATURES = {
  age: ({ term, facts }) => Math.log1p(facts.messages - 1 - term.last),
  /** Text since a term that one message holds. */
  distanceIfOnce: ({ term, facts }) =>
    term.messages === 1 ? Math.log1p((facts.charsAfter[term.last] as number) / CHARS_A_STEP) : 0,
  occurrences: ({ term }) => Math.log1p(term.occurrences),
  called: ({ term }) => Number(term.messagesByPart.call > 0),
  said: ({ term }) => Number(term.messagesByPart.statement > 0),
  /** The agent has lately used the terms beside the term. */
  company: ({ index, facts }) => facts.company[index] as number,
  inResult: ({ term }) => Number(term.messagesByPart.result > 0),
  /** A result brought the term, before anyone else used it. */
  fromResult: ({ term }) => Number(term.firstPart === 'result'),
  /** Terms of the last result that holds the term: a name in a long listing is one of many. */
  crowd: ({ term, facts }) => Math.log1p(facts.resultTerms[term.lastByPart.result] ?? 0),
  /** A key is the name of a field, and not the value that is needed. */
  asKey: ({ term }) => term.asKey / term.occurrences,
  plain: ({ shape }) => Number(shape.isPlain),
  length: ({ shape }) => Math.log1p(shape.chars),
} satisfies Record<string, (seen: SeenTerm) => number>;

export type Feature = keyof typeof FEATURES;
export const FEATURE_NAMES = Object.keys(FEATURES) as readonly Feature[];

/** Weights of a term's own value, and of the mean of its peers. */
export interface FeatureWeights {
  readonly own: number;
  readonly peers: number;
}

export interface UseWeights {
  readonly bias: number;
  readonly features: Readonly<Record<Feature, FeatureWeights>>;
}

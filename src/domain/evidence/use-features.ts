import type { Term } from './ledger.ts';
import type { SourceFacts } from './source-facts.ts';
import type { TermShape } from './term-shape.ts';

/** A term of a source with all that the features need. */
export interface SeenTerm {
  readonly term: Term;
  readonly shape: TermShape;
  /** Index of the term in the ledger. */
  readonly index: number;
  readonly facts: SourceFacts;
}

/** Characters that count as one step of distance: about 200 tokens. */
const CHARS_A_STEP = 700;

/**
 * Signs for or against the use of a term by the agent in its next messages. `scripts/fit-use-weights.ts` fits their weights.
 * They remain of 40 that were tried.
 */
const FEATURES = {
  /** Messages since the term was last held. */
  age: ({ term, facts }) => Math.log1p(facts.messages - 1 - term.last),
  /** The agent has used the term in a call. */
  called: ({ term }) => Number(term.messagesByPart.call > 0),
  /** Text since a term that one message holds. */
  distanceIfOnce: ({ term, facts }) =>
    term.messages === 1 ? Math.log1p((facts.charsAfter[term.last] as number) / CHARS_A_STEP) : 0,
  /** Terms of the last result that holds the term: a name in a long listing is one of many. */
  crowd: ({ term, facts }) => Math.log1p(facts.resultTerms[term.lastByPart.result] ?? 0),
  /** Terms that look like the term: one of many order numbers. */
  alike: (seen) => alikeOf(seen),
  /** The same for a term that only results hold. */
  alikeInResults: (seen) => (isOnlyInResults(seen.term) ? alikeOf(seen) : 0),
  /** A key is the name of a field, and not the value that is needed. */
  asKey: ({ term }) => term.asKey / term.occurrences,
  /** A word in small letters. */
  plain: ({ shape }) => Number(shape.isPlain),
} satisfies Record<string, (seen: SeenTerm) => number>;

export type Feature = keyof typeof FEATURES;
export const FEATURE_NAMES = Object.keys(FEATURES) as readonly Feature[];

/** Weights of a feature: of a term's own value, and of the mean of its peers. */
export interface FeatureWeights {
  readonly own: number;
  readonly peers: number;
}

/** Table of a logistic regression. */
export interface UseWeights {
  readonly bias: number;
  readonly features: Readonly<Record<Feature, FeatureWeights>>;
}

export function featureOf(name: Feature, seen: SeenTerm): number {
  return FEATURES[name](seen);
}

function alikeOf({ index, facts }: SeenTerm): number {
  return Math.log1p(facts.alike[index] as number);
}

function isOnlyInResults({ messagesByPart }: Term): boolean {
  const { user, statement, call } = messagesByPart;
  return user + statement + call === 0;
}

import type { Term } from './ledger.ts';
import type { TermShape } from './term-shape.ts';

const SHORT_CHARS = 5;
const KINDS: readonly ((shape: TermShape) => boolean)[] = [
  ({ isPlain, chars }) => isPlain && chars < SHORT_CHARS,
  ({ isPlain }) => isPlain,
  ({ isPath }) => isPath,
  ({ isJoined, hasDigit }) => isJoined && hasDigit,
  ({ isJoined }) => isJoined,
  ({ isNumber }) => isNumber,
  ({ hasDigit, hasUnderscore }) => hasDigit && hasUnderscore,
  ({ hasDigit, hasLower }) => hasDigit && hasLower,
  ({ hasDigit }) => hasDigit,
  ({ hasUnderscore }) => hasUnderscore,
  ({ hasInnerCapital }) => hasInnerCapital,
  () => true,
];
/** Number of classes in each doubling of the message count. Counts 1, 2, 3, 4, 6, 8, 11 and 16 begin a class. */
const CLASSES_A_DOUBLING = 2;
const COUNT_CLASSES = 9;

export const PEER_GROUPS = KINDS.length * COUNT_CLASSES;

/**
 * Index of a term's peer group: terms of similar form and message count. The agent uses frequent terms and long
 * identifiers more often anyway, so a term is compared mainly with its peers.
 */
export function peersOf({ messages }: Pick<Term, 'messages'>, shape: TermShape): number {
  const kind = KINDS.findIndex((fits) => fits(shape));
  const countClass = Math.min(COUNT_CLASSES - 1, Math.round(CLASSES_A_DOUBLING * Math.log2(messages)));
  return kind * COUNT_CLASSES + countClass;
}

export class PeerSums {
  readonly #sums = new Float64Array(PEER_GROUPS);
  readonly #sizes = new Float64Array(PEER_GROUPS);

  add(group: number, value: number): void {
    this.#sums[group] = (this.#sums[group] as number) + value;
    this.#sizes[group] = (this.#sizes[group] as number) + 1;
  }

  each(compute: (sum: number, size: number) => number): Float64Array {
    return this.#sums.map((sum, group) => compute(sum, this.#sizes[group] as number));
  }

  of(group: number): { readonly sum: number; readonly size: number } {
    return { sum: this.#sums[group] as number, size: this.#sizes[group] as number };
  }
}

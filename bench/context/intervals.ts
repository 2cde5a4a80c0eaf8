import { meanOf } from './measure.ts';
import { FAMILIES, type Family } from './points.ts';

/** A measured place of a conversation, e.g. a cut. Places of one conversation are no independent observations. */
export interface Observed {
  readonly family: Family;
  readonly conversation: string;
}

/** A mean with the interval in which it would lie for 95 of 100 other draws of conversations. */
export interface Estimate {
  /** NaN if nothing was observed. */
  readonly mean: number;
  /** Undefined if a family has one conversation only. */
  readonly interval: readonly [low: number, high: number] | undefined;
  readonly conversations: number;
  readonly points: number;
}

const DRAWS = 1_000;
const OUTSIDE = 0.025;
const SEED = 20_261_128;

/** Sum and number of the values of one conversation. */
interface Total {
  readonly sum: number;
  readonly count: number;
}

/**
 * Estimates the mean of a value over the points of each family, then over the families. The interval is a bootstrap over
 * conversations: each draw takes as many conversations of each family as there are, some twice, with all their points.
 * The same observations give the same interval.
 */
export function estimateMean<Item extends Observed>(
  items: readonly Item[],
  valueOf: (item: Item) => number | undefined,
): Estimate {
  const families = FAMILIES.map((family) => totalByConversation(items, family, valueOf)).filter(
    ({ length }) => length > 0,
  );
  const conversations = families.reduce((sum, { length }) => sum + length, 0);
  const points = families.flat().reduce((sum, { count }) => sum + count, 0);
  const mean = meanOf(families.map(meanOfTotals));
  if (families.length === 0 || families.some(({ length }) => length < 2))
    return { mean, interval: undefined, conversations, points };
  const random = createRandom(SEED);
  const means = Array.from({ length: DRAWS }, () =>
    meanOf(families.map((totals) => meanOfTotals(draw(totals, random)))),
  );
  means.sort((one, other) => one - other);
  const at = (share: number): number => means[Math.min(DRAWS - 1, Math.floor(share * DRAWS))] as number;
  return { mean, interval: [at(OUTSIDE), at(1 - OUTSIDE)], conversations, points };
}

function totalByConversation<Item extends Observed>(
  items: readonly Item[],
  family: Family,
  valueOf: (item: Item) => number | undefined,
): Total[] {
  const totals = new Map<string, Total>();
  for (const item of items) {
    const value = item.family === family ? valueOf(item) : undefined;
    if (value === undefined) continue;
    const { sum, count } = totals.get(item.conversation) ?? { sum: 0, count: 0 };
    totals.set(item.conversation, { sum: sum + value, count: count + 1 });
  }
  return [...totals.values()];
}

function meanOfTotals(totals: readonly Total[]): number {
  let [sum, count] = [0, 0];
  for (const total of totals) {
    sum += total.sum;
    count += total.count;
  }
  return sum / count;
}

function draw(totals: readonly Total[], random: () => number): Total[] {
  return totals.map(() => totals[Math.floor(random() * totals.length)] as Total);
}

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

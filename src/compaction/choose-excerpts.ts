import type { Interruptible } from '../domain/interruptible.ts';
import type { ContextItem, KeptRange } from '../domain/version.ts';
import type { Weigh } from './clip.ts';
import { type ContextEvidence, type FragmentRange, isShown } from './context-evidence.ts';
import { isSpareLine } from './evidence/alike-lines.ts';
import { chooseFragments } from './evidence/coverage.ts';
import type { Fragment, Ledger } from './evidence/ledger.ts';
import { breakBefore } from './evidence/word-breaks.ts';
import { excerptMessage, mostRanges } from './excerpt.ts';

interface ExcerptRequest {
  readonly items: readonly ContextItem[];
  readonly large: ReadonlySet<ContextItem>;
  readonly maxTokens: number;
  readonly evidence: ContextEvidence;
  readonly weigh: Weigh;
}

/** Tokens of the message reference and of the marks around the first fragment of an excerpt. */
const REFERENCE_TOKENS = 12;
/** Maximum characters of a first or last line that counts as a heading. */
const MAX_EDGE_CHARS = 100;
/** Maximum number of tries. A try chooses fragments by estimated tokens, and then counts the tokens of the excerpts. */
const MAX_TRIES = 4;
const GOOD_FILL = 0.95;
/** Maximum characters of an excerpt. Its tokens are counted without a yield, which takes less than 50 ms. */
const MAX_EXCERPT_CHARS = 131_072;

/** Keeps headings, last lines, and what the agent most likely needs. @returns excerpts smaller than their item */
export function* chooseExcerpts(request: ExcerptRequest): Interruptible<ReadonlyMap<ContextItem, ContextItem>> {
  const { large, maxTokens, weigh } = request;
  const pool = collectPool(request);
  yield;
  let best = new Map<ContextItem, ContextItem>();
  let [bestTokens, target] = [0, maxTokens];
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    const kept = yield* chooseRanges(request, pool, target);
    const excerpts = new Map<ContextItem, ContextItem>();
    let tokens = 0;
    for (const item of large) {
      const excerpt = excerptItem(item, kept.get(item) ?? [], weigh);
      if (excerpt.tokens < item.tokens && excerpt.bytes < item.bytes) excerpts.set(item, excerpt);
      tokens += Math.min(excerpt.tokens, item.tokens);
      yield;
    }
    const isBetter = tokens <= maxTokens ? bestTokens > maxTokens || tokens > bestTokens : tokens < bestTokens;
    if (tries === 1 || isBetter) [best, bestTokens] = [excerpts, tokens];
    if (tokens <= maxTokens && tokens >= maxTokens * GOOD_FILL) break;
    target = Math.floor((target * maxTokens) / Math.max(1, tokens)) - 1;
  }
  return best;
}

interface Pool {
  readonly owners: ReadonlyMap<number, ContextItem>;
  readonly tokens: Float64Array;
  /** Indexes of headings and last lines. They say what a text is, and how it ended. */
  readonly edges: readonly number[];
  readonly shown: readonly number[];
}

function collectPool({ items, large, evidence: { ledger, fragmentsOf } }: ExcerptRequest): Pool {
  const owners = new Map<number, ContextItem>();
  const tokens = new Float64Array(ledger.fragments.length);
  const edges: number[] = [];
  const shown: number[] = [];
  for (const item of items) {
    const own = fragmentsOf(item);
    const isLarge = large.has(item);
    const rate = item.tokens / Math.max(1, item.message.content.length);
    for (let index = own.from; index < own.to; index += 1) {
      const fragment = ledger.fragments[index] as Fragment;
      if (isLarge) {
        owners.set(index, item);
        tokens[index] = fragment.text.length * Math.min(1, rate) + 1;
      } else if (isShown(item, fragment)) shown.push(index);
    }
    if (isLarge) for (const edge of edgesOf(ledger, own)) edges.push(...withOwners(ledger, edge));
  }
  return { owners, tokens, edges, shown };
}

function edgesOf({ fragments }: Ledger, { from, to }: FragmentRange): number[] {
  const edges = to - from > 1 ? [from, to - 1] : [from].slice(0, to - from);
  return edges.filter((index) => {
    const { text, isKey = false } = fragments[index] as Fragment;
    return !isKey && text.length <= MAX_EDGE_CHARS;
  });
}

function withOwners({ fragments }: Ledger, index: number): number[] {
  const chain: number[] = [];
  for (let at = index; at >= 0; at = (fragments[at] as Fragment).owner) chain.unshift(at);
  return chain;
}

function* chooseRanges(
  { large, evidence: { ledger, values, alike } }: ExcerptRequest,
  { owners, tokens, edges, shown }: Pool,
  maxTokens: number,
): Interruptible<Map<ContextItem, KeptRange[]>> {
  let left = maxTokens - large.size * REFERENCE_TOKENS;
  for (const index of edges) left -= tokens[index] as number;
  const chosen = yield* chooseFragments({
    ledger,
    values,
    tokens,
    maxTokens: left,
    headTokens: 0,
    shown: [...shown, ...edges],
    fillsUp: true,
    isSpare: (index) => isSpareLine(alike, index),
    mayChoose: (index) => owners.has(index),
  });
  for (const index of chosen) left -= tokens[index] as number;
  yield;
  const taken = new TakenFragments(ledger);
  for (const index of [...edges, ...chosen]) taken.add(index, owners.get(index) as ContextItem);
  for (const [index, item] of [...large].toReversed().entries()) {
    left -= taken.addStart(item, left / (large.size - index));
    yield;
  }
  return taken.rangesByItem();
}

/** Two fragments with fewer characters between them, such as line ends and brackets, become one range. */
const MAX_GAP_CHARS = 16;

class TakenFragments {
  readonly #ledger: Ledger;
  readonly #taken = new Map<number, ContextItem>();
  /** By text of which only the start stays: the number of characters that stay. */
  readonly #starts = new Map<ContextItem, number>();
  readonly #ranges = new Map<ContextItem, number>();
  readonly #chars = new Map<ContextItem, number>();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  /** @returns false if the owner of the fragment was not chosen, or if the excerpt has no room for the fragment */
  add(index: number, item: ContextItem): boolean {
    const { start, end, owner } = this.#ledger.fragments[index] as Fragment;
    if (this.#taken.has(index)) return true;
    if (owner >= 0 && !this.#taken.has(owner)) return false;
    const joinsBefore = this.#taken.has(index - 1) && this.#areNeighbours(index - 1);
    const joinsAfter = this.#taken.has(index + 1) && this.#areNeighbours(index);
    const joined = Number(joinsBefore) + Number(joinsAfter);
    const ranges = (this.#ranges.get(item) ?? 0) + 1 - joined;
    const chars = (this.#chars.get(item) ?? 0) + end - start;
    const { logged = item.message } = item;
    if (ranges > mostRanges(logged.content.length) || chars > MAX_EXCERPT_CHARS) return false;
    this.#taken.set(index, item);
    this.#ranges.set(item, ranges);
    this.#chars.set(item, chars);
    return true;
  }

  /** Keeps the start of a text of which no fragment fits. @returns its tokens */
  addStart(item: ContextItem, maxTokens: number): number {
    const { message, tokens, logged = message } = item;
    const most = Math.floor((logged.content.length * maxTokens) / Math.max(tokens, logged.content.length));
    const chars = breakBefore(logged.content, most);
    if (this.#ranges.has(item) || chars <= 0) return 0;
    this.#starts.set(item, chars);
    return maxTokens;
  }

  rangesByItem(): Map<ContextItem, KeptRange[]> {
    const byItem = new Map<ContextItem, [number, number][]>();
    for (const [item, chars] of this.#starts) byItem.set(item, [[0, chars]]);
    for (const [index, item] of [...this.#taken].toSorted(([a], [b]) => a - b)) {
      const { start, end } = this.#ledger.fragments[index] as Fragment;
      const ranges = byItem.get(item) ?? [];
      byItem.set(item, ranges);
      const last = ranges.at(-1);
      if (last !== undefined && this.#taken.has(index - 1) && this.#areNeighbours(index - 1)) last[1] = end;
      else ranges.push([start, end]);
    }
    return byItem;
  }

  #areNeighbours(index: number): boolean {
    const [one, other] = [this.#ledger.fragments[index], this.#ledger.fragments[index + 1]];
    if (one === undefined || other === undefined) return false;
    return one.message === other.message && one.part === other.part && other.start - one.end <= MAX_GAP_CHARS;
  }
}

function excerptItem(
  { from, to, message, logged = message }: ContextItem,
  kept: KeptRange[],
  weigh: Weigh,
): ContextItem {
  const excerpt = excerptMessage(logged, kept, from);
  const weight = weigh(excerpt);
  return {
    from,
    to,
    ...weight,
    message: excerpt,
    segment: { kind: 'excerpt', from, to, weight, kept: kept.map(([start, end]) => [start, end]) },
    logged,
  };
}

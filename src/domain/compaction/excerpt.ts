import type { ContextItem } from '../context.ts';
import { chooseFragments } from '../evidence/coverage.ts';
import { type Fragment, type Ledger, readLedger } from '../evidence/ledger.ts';
import { valueTerms } from '../evidence/use-probability.ts';
import type { Message } from '../message.ts';
import type { Sliced } from '../sliced.ts';
import type { Weigh } from './clip.ts';

/** Start and end of a part of a text that stays, in UTF-16 units. */
export type KeptRange = readonly [start: number, end: number];

/** Tokens of the reference and of the marks around the first fragment of an excerpt. */
const REFERENCE_TOKENS = 10;
const MAX_TRIES = 4;
/** A longer first line is no heading. */
const MAX_HEAD_CHARS = 100;

/**
 * Shortens a message to the parts that stay, with a reference to the log. The same ranges give the same text, so that no
 * version has to store it (I15).
 */
export function excerptMessage(message: Message, kept: readonly KeptRange[], seq: number): Message {
  const { raw: _raw, parts: _parts, ...others } = message;
  let content = `[excerpt of message ${seq}]\n`;
  for (const [index, [start, end]] of kept.entries()) {
    if (index > 0 || start > 0) content += '… ';
    content += `${message.content.slice(start, end)}\n`;
  }
  return { ...others, content: content.trimEnd() };
}

export interface ExcerptRequest {
  /** All items of the context. The excerpts need not repeat what the others say. */
  readonly items: readonly ContextItem[];
  /** Positions of the items to shorten. Their messages have no calls. */
  readonly positions: ReadonlySet<number>;
  /** Tokens that the excerpts may have together. */
  readonly maxTokens: number;
  readonly weigh: Weigh;
}

/** Shortens messages to the fragments that the agent will most likely need, over all of them. @returns items by position */
export function* excerptItems(request: ExcerptRequest): Sliced<ReadonlyMap<number, ContextItem>> {
  const { items, positions, maxTokens, weigh } = request;
  const ledger = yield* readLedger(items.map(({ message, logged = message }) => logged));
  const values = valueTerms(ledger);
  yield;
  const tokens = estimateTokens(ledger, items);
  const heads = findHeads(ledger, positions);
  const shown = [...ledger.fragments.keys()].filter((index) => !positions.has(messageOf(ledger, index)));
  let headTokens = 0;
  for (const index of heads) headTokens += (tokens[index] ?? 0) + REFERENCE_TOKENS;
  yield;
  let excerpts = new Map<number, ContextItem>();
  for (let tries = 1, target = maxTokens; tries <= MAX_TRIES; tries += 1) {
    const chosen = yield* chooseFragments({
      ledger,
      values,
      tokens,
      maxTokens: target - headTokens,
      headTokens: REFERENCE_TOKENS,
      shown: [...shown, ...heads],
      mayChoose: (index) => positions.has(messageOf(ledger, index)) && ledger.fragments[index]?.part !== 'call',
    });
    const kept = rangesOf(ledger, [...heads, ...chosen]);
    excerpts = new Map();
    let used = 0;
    for (const position of positions) {
      const excerpt = excerptItem(items[position] as ContextItem, kept.get(position) ?? [], weigh);
      excerpts.set(position, excerpt);
      used += excerpt.tokens;
      yield;
    }
    if (used <= maxTokens) break;
    target = Math.floor((target * maxTokens) / used) - 1;
  }
  return excerpts;
}

function excerptItem(
  { from, to, message, logged = message }: ContextItem,
  kept: readonly KeptRange[],
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

function messageOf({ fragments }: Ledger, index: number): number {
  return (fragments[index] as Fragment).message;
}

/** Tokens of each fragment, in proportion to its characters. */
function estimateTokens({ fragments }: Ledger, items: readonly ContextItem[]): Float64Array {
  return Float64Array.from(fragments, ({ message, text }) => {
    const { tokens, message: shown, logged } = items[message] as ContextItem;
    const chars = Math.max(1, shown.content.length);
    const rate = logged === undefined ? Math.min(1, tokens / chars) : 0.3;
    return text.length * rate + 1;
  });
}

/** Ranges of the content that stay, by position, with neighbours joined. */
function rangesOf({ fragments }: Ledger, chosen: readonly number[]): Map<number, [number, number][]> {
  const kept = new Map<number, [number, number][]>();
  for (const index of chosen.toSorted((a, b) => a - b)) {
    const { message, start, end } = fragments[index] as Fragment;
    const ranges = kept.get(message) ?? [];
    kept.set(message, ranges);
    const last = ranges.at(-1);
    if (last !== undefined && start - last[1] <= 1) last[1] = end;
    else ranges.push([start, end]);
  }
  return kept;
}

/** First fragment of each text: it says what the text is. */
function findHeads({ fragments }: Ledger, positions: ReadonlySet<number>): number[] {
  const heads = new Map<number, number>();
  for (const [index, { message, part, text }] of fragments.entries()) {
    if (!positions.has(message) || part === 'call' || heads.has(message)) continue;
    heads.set(message, text.length <= MAX_HEAD_CHARS ? index : -1);
  }
  return [...heads.values()].filter((index) => index >= 0);
}

import type { Interruptible } from '../domain/interruptible.ts';
import type { Message, Weight } from '../domain/message.ts';
import type { ContextItem } from '../domain/version.ts';
import { chooseExcerpts } from './choose-excerpts.ts';
import { clipMessage, type Weigh } from './clip.ts';
import type { ContextEvidence } from './context-evidence.ts';

/** Maximum tokens of a clip. A clip is counted in one go, which must not block the event loop. */
const MAX_CLIP_TOKENS = 4_000;
const MAX_CLIP_CHARS = 50_000;
const MAX_TRIES = 8;

/** Minimum characters of a clip. A shorter clip would be useless. */
const MIN_CLIP_CHARS = 40;

interface SizeRequest {
  readonly candidates: readonly ContextItem[];
  readonly excess: Weight;
  /** No message is shortened below this size. */
  readonly minTokens: number;
}

export interface ShortenRequest extends SizeRequest {
  readonly items: readonly ContextItem[];
  readonly evidence: ContextEvidence;
  readonly weigh: Weigh;
}

/**
 * Shortens the largest messages. Text keeps the fragments that matter. Calls and pictures are clipped in the middle,
 * and arguments stay valid JSON.
 * @returns the shortened items, by the item that each replaces
 */
export function* shortenLargest(request: ShortenRequest): Interruptible<ReadonlyMap<ContextItem, ContextItem>> {
  const { items, excess, minTokens, evidence, weigh } = request;
  const { candidates, level } = planSizes(request);
  const large = new Set(candidates.filter((item) => item.tokens > level && isText(item)));
  const texts = new Set(items.filter((item) => large.has(item)));
  const shortened = new Map<ContextItem, ContextItem>();
  let { tokens, bytes } = excess;
  const take = (item: ContextItem, made: ContextItem): void => {
    shortened.set(item, made);
    tokens -= item.tokens - made.tokens;
    bytes -= item.bytes - made.bytes;
  };
  if (texts.size > 0) {
    const maxTokens = texts.size * level;
    for (const [item, made] of yield* chooseExcerpts({ items, large: texts, maxTokens, evidence, weigh }))
      take(item, made);
  }
  for (const item of candidates) {
    if (tokens <= 0 && bytes <= 0) break;
    if (shortened.has(item) || !canClip(item)) continue;
    const made = yield* clipItem(item, Math.max(minTokens, level), weigh);
    if (made !== undefined && made.tokens < item.tokens && made.bytes < item.bytes) take(item, made);
  }
  return shortened;
}

export function estimateShortened(request: SizeRequest): ReadonlyMap<ContextItem, ContextItem> {
  const { candidates, level } = planSizes(request);
  const shortened = new Map<ContextItem, ContextItem>();
  for (const item of candidates) {
    if (item.tokens <= level || !canClip(item)) continue;
    const { from, to, message, logged = message } = item;
    const weight = { tokens: level, bytes: Math.ceil((item.bytes * level) / item.tokens) };
    const segment = { kind: 'clipped' as const, from, to, weight, keepChars: 0 };
    shortened.set(item, { from, to, message, ...weight, segment, logged });
  }
  return shortened;
}

/** Lists candidates above the smallest size, the largest first, and the size to which the largest are shortened. */
function planSizes({ candidates, excess, minTokens }: SizeRequest) {
  const ranked = candidates
    .filter(({ tokens }) => tokens > minTokens)
    .toSorted((a, b) => b.tokens - a.tokens || a.from - b.from);
  return { candidates: ranked, level: findCommonSize(ranked, excess, minTokens) };
}

/** True if the item shows a message of the log, not a summary or a mask. Such a message can be shortened. */
export function isShortenable({ segment }: ContextItem): boolean {
  return segment === undefined || segment.kind === 'clipped' || segment.kind === 'excerpt';
}

function isText({ message, logged = message }: ContextItem): boolean {
  return message.toolCalls === undefined && message.parts === undefined && logged.content.length > MIN_CLIP_CHARS;
}

/** @param items the largest first */
function findCommonSize(items: readonly ContextItem[], excess: Weight, minTokens: number): number {
  let { tokens, bytes } = excess;
  for (const [index, item] of items.entries()) {
    const next = Math.max(minTokens, items[index + 1]?.tokens ?? minTokens);
    const gain = (item.tokens - next) * (index + 1);
    const bytesPerToken = item.bytes / Math.max(1, item.tokens);
    if (gain >= tokens && gain * bytesPerToken >= bytes) {
      const needed = Math.max(tokens, bytes / Math.max(bytesPerToken, 1e-9));
      return Math.max(minTokens, Math.floor(item.tokens - needed / (index + 1)));
    }
    tokens -= gain;
    bytes -= gain * bytesPerToken;
  }
  return minTokens;
}

/**
 * Yields after each try, because counting 50,000 characters may take 15 ms. @returns undefined if no clip is smaller
 */
export function* clipItem(item: ContextItem, maxTokens: number, weigh: Weigh): Interruptible<ContextItem | undefined> {
  const { from, to, logged = item.message } = item;
  if (!canClip(item)) return undefined;
  const target = Math.min(maxTokens, MAX_CLIP_TOKENS);
  let keepChars = Math.floor((longestText(item.message) * target) / Math.max(1, item.tokens));
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    const isShortest = keepChars <= MIN_CLIP_CHARS || tries === MAX_TRIES;
    if (isShortest) keepChars = MIN_CLIP_CHARS;
    const message = clipMessage(logged, keepChars, from);
    if (countChars(message) > MAX_CLIP_CHARS) return undefined;
    const weight = weigh(message);
    yield;
    if (weight.tokens <= target || (isShortest && weight.tokens < item.tokens)) {
      return { from, to, ...weight, message, segment: { kind: 'clipped', from, to, weight, keepChars }, logged };
    }
    if (isShortest) return undefined;
    keepChars = Math.floor(Math.min(keepChars * 0.9, (keepChars * target) / weight.tokens));
  }
  return undefined;
}

function canClip({ message }: ContextItem): boolean {
  return message.parts !== undefined || longestText(message) > MIN_CLIP_CHARS;
}

function countChars({ content, toolCalls = [] }: Message): number {
  return toolCalls.reduce((sum, call) => sum + call.arguments.length, content.length);
}

function longestText({ content, toolCalls }: Message): number {
  let longest = content.length;
  if (toolCalls !== undefined) for (const call of toolCalls) longest = Math.max(longest, call.arguments.length);
  return longest;
}

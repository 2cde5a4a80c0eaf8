import type { LogEntry } from '../../domain/message.ts';
import type { TokenCounter } from '../../wire/tokens/token-counter.ts';
import { clipUserText, GAP_TOKENS } from './clip-user-text.ts';
import { announces, ownersOfRule, readPieces, type UserPiece, writeRanges } from './user-pieces.ts';
import { foldRepeats, type SaidText } from './user-repeats.ts';

const OPEN = '<users>';
const CLOSE = '</users>';
/** The tag `<users>` in a user's text. It is escaped, so that the text cannot end the list `<users>`. */
const OWN_TAG = /<(?=[\s/]*(?:users)\b)/gi;
/** Line between the rules and the other words of users. */
const OTHERS = '(other words)';
const NOTE = /^\((?:\d+ more, in the log|other words)\)$/;
const COPIED = /\n(?=(?:system )?\d{1,9}: |\((?:\d+ more, in the log|other words)\)(?:\n|$))/;
const COPIED_BY = /^(?:system )?\d{1,9}: /;

/** Least tokens of a clipped piece, because a shorter piece would be useless. */
const MIN_CLIPPED_TOKENS = 16;
/** Share of the limit that rules leave to the other words of users, which state the topic and the last request. */
const OTHERS_SHARE = 0.35;

export interface CopyLimits {
  readonly maxTokens: number;
  /** Limit if rules need more than `maxTokens`. Default: `maxTokens`. */
  readonly mostTokens?: number;
  /** True to copy the first text and the most important rules only. */
  readonly isOpening?: boolean;
}

/**
 * Copies the users' texts of a range, so that no summarizer can lose or change them. Repetitions are copied once.
 *
 * Above the limit, sentences that state rules come first, each whole, in the order of the log. They are read from the
 * log in each pass, so a rule is still there after many passes. Then the longest of the other texts are clipped in the
 * middle, between sentences. At last the oldest texts are left out, except for the first, which usually states the topic.
 * @returns '' if the range has no text of a user, undefined if the limit allows none of the texts
 */
export async function copyUserTexts(
  counter: TokenCounter,
  entries: readonly LogEntry[],
  { maxTokens, mostTokens = maxTokens, isOpening = false }: CopyLimits,
): Promise<string | undefined> {
  const most = Math.max(maxTokens, mostTokens);
  const texts = foldRepeats(
    entries.filter(hasUserText).map(({ seq, message }) => ({ seq, text: message.content.replace(OWN_TAG, '&lt;') })),
  );
  if (texts.length === 0) return '';
  const all = [OPEN, ...texts.map(render), CLOSE, ''].join('\n');
  if ((!isOpening || texts.length === 1) && (await counter.count(all)) <= maxTokens) return all;
  const found = await readRules(counter, texts);
  const rules = isOpening ? found.filter(({ rank }) => rank <= MAX_SMALL_RANK) : found;
  for (let spare = 0; spare < most; ) {
    const text = await copyWithin(
      counter,
      { texts, rules },
      { maxTokens: maxTokens - spare, mostTokens: most - spare, isOpening },
    );
    const over = text === undefined ? 0 : (await counter.count(text)) - most;
    if (over <= 0) return text;
    spare += over;
  }
  return undefined;
}

function hasUserText({ message: { role, content } }: LogEntry): boolean {
  return role === 'user' && content.trim() !== '';
}

export function withoutUserTexts(text: string): string {
  const end = text.startsWith(OPEN) ? text.indexOf(CLOSE) : -1;
  return end === -1 ? text : text.slice(end + CLOSE.length).trimStart();
}

/** Reads the copied texts in order. Clipped texts are returned as they were copied. */
export function readCopiedTexts(text: string): string[] {
  const end = text.startsWith(OPEN) ? text.indexOf(CLOSE) : -1;
  if (end === -1) return [];
  const copied = text.slice(OPEN.length, end).trim().split(COPIED);
  return copied.filter((one) => !NOTE.test(one.trim())).map((one) => one.replace(COPIED_BY, '').trimEnd());
}

/** A sentence that states a rule. Lower ranks come first. */
interface Rule {
  readonly rank: number;
  readonly seq: number;
  readonly text: string;
  readonly piece: UserPiece;
  readonly tokens: number;
}

/** Tokens of the number before a sentence, and of the gaps around it. */
const HEAD_TOKENS = 6;

/** A text with more characters is mostly pasted. */
const MAX_TYPED_CHARS = 300;

/**
 * Lists rules, the shortest first. Typed texts come before long ones, which are mostly pasted, and duties before wishes. A
 * repeated rule stands where it was said last.
 */
async function readRules(counter: TokenCounter, texts: readonly SaidText[]): Promise<Rule[]> {
  const rules = new Map<string, Rule>();
  for (const { seq, text } of texts) {
    for (const piece of await readPieces(text)) {
      const said = text.slice(piece.start, piece.end).trim();
      const isTyped = text.length <= MAX_TYPED_CHARS;
      if (piece.sign === undefined || announces(said)) continue;
      const owned = ownersOfRule(piece, text)
        .map(({ start, end }) => text.slice(start, end).trim())
        .join('\n');
      const tokens = counter.countSync(`${owned}\n${said}`) + HEAD_TOKENS;
      const rank = rankOf(piece, isTyped);
      rules.set(said.toLowerCase().replaceAll(/\s+/g, ' '), { seq, text, piece, tokens, rank });
    }
  }
  return [...rules.values()].toSorted((a, b) => a.rank - b.rank || a.tokens - b.tokens || a.seq - b.seq);
}

/** Duties in long texts, and wishes in short ones. Less important rules have no place in a small summary. */
const MAX_SMALL_RANK = 1;

function rankOf({ sign }: UserPiece, isTyped: boolean): number {
  return Number(sign !== 'binding') + (isTyped ? 0 : 1);
}

function chooseRules(rules: readonly Rule[], maxTokens: number): Map<number, UserPiece[]> {
  const chosen = new Map<number, UserPiece[]>();
  let left = maxTokens;
  for (const { seq, piece, tokens } of rules) {
    if (tokens > left) continue;
    left -= tokens;
    chosen.set(seq, [...(chosen.get(seq) ?? []), piece]);
  }
  return chosen;
}

interface Copied {
  readonly texts: readonly SaidText[];
  readonly rules: readonly Rule[];
}

async function copyWithin(
  counter: TokenCounter,
  { texts, rules }: Copied,
  { maxTokens, mostTokens, isOpening }: Required<CopyLimits>,
): Promise<string | undefined> {
  const chosen = chooseRules(rules, mostTokens - OTHERS_SHARE * maxTokens);
  const first = texts.flatMap(({ seq, text }) => {
    const own = chosen.get(seq);
    return own === undefined ? [] : [render({ seq, text: writePieces(text, own) })];
  });
  const used = counter.countSync(first.join('\n'));
  const room = Math.max(Math.floor(OTHERS_SHARE * maxTokens), maxTokens - used);
  const shown = isOpening ? texts.slice(0, 1) : texts;
  const rest = shown.flatMap(({ seq, text }) => withoutPieces({ seq, text }, chosen.get(seq)));
  const others = rest.length === 0 ? [] : await copyOthers(counter, rest, room);
  if (first.length === 0 && others === undefined) return undefined;
  const lines = first.length === 0 || (others ?? []).length === 0 ? [] : [OTHERS];
  return [OPEN, ...first, ...lines, ...(others ?? [describeLeft(rest.length)]), CLOSE, ''].join('\n');
}

function writePieces(text: string, pieces: readonly UserPiece[]): string {
  const shown = [...new Set(pieces.flatMap((piece) => [...ownersOfRule(piece, text), piece]))];
  return writeRanges(
    text,
    shown.toSorted((a, b) => a.start - b.start).map(({ start, end }) => [start, end]),
  );
}

/** Least letters and digits of a text without its rules. Less, such as a greeting, says nothing alone. */
const MIN_LEFT = 12;

function withoutPieces({ seq, text }: SaidText, pieces: readonly UserPiece[] = []): SaidText[] {
  const ranges: [number, number][] = [];
  let at = 0;
  for (const { start, end } of pieces.toSorted((a, b) => a.start - b.start)) {
    ranges.push([at, start]);
    at = end;
  }
  if (at === 0) return [{ seq, text }];
  const left = writeRanges(text, [...ranges, [at, text.length]]);
  return (left.match(/[\p{L}\p{N}]/gu)?.length ?? 0) < MIN_LEFT ? [] : [{ seq, text: left }];
}

/** @returns lines, or undefined if the limit allows none of the texts */
async function copyOthers(
  counter: TokenCounter,
  texts: readonly SaidText[],
  maxTokens: number,
): Promise<string[] | undefined> {
  const [first, ...others] = texts as readonly [SaidText, ...SaidText[]];
  const frame = [OPEN, OTHERS, ...(others.length === 0 ? [] : [describeLeft(others.length)]), CLOSE, ''];
  const room = maxTokens - counter.countSync(frame.join('\n'));
  const taken: SaidText[] = [];
  const sizes: number[] = [];
  let limit = 0;
  for (const text of [first, ...others.toReversed()]) {
    const size = GAP_TOKENS + (await counter.count(render(text)));
    const shared = shareTokens([...sizes, size], room);
    if (shared < Math.min(MIN_CLIPPED_TOKENS, size)) break;
    taken.push(text);
    sizes.push(size);
    limit = shared;
  }
  if (taken.length === 0) return undefined;
  const missing = texts.length - taken.length;
  const lines: string[] = [];
  for (const [index, text] of taken.entries())
    lines.push((sizes[index] as number) <= limit ? render(text) : await clipUserText(counter, text, limit));
  const [opening = '', ...newest] = lines;
  return [opening, ...(missing === 0 ? [] : [describeLeft(missing)]), ...newest.toReversed()];
}

/** @returns the size to which the largest texts are cut so that all fit, or the largest size */
function shareTokens(sizes: readonly number[], room: number): number {
  let left = room;
  for (const [index, size] of sizes.toSorted((a, b) => a - b).entries()) {
    const share = Math.floor(left / (sizes.length - index));
    if (size > share) return share;
    left -= size;
  }
  return Math.max(...sizes);
}

function render({ seq, text }: SaidText): string {
  return `${seq}: ${text}`;
}

function describeLeft(count: number): string {
  return `(${count} more, in the log)`;
}

import { endsSlice, type Interruptible } from '../../domain/interruptible.ts';
import type { FixedWeight } from '../../domain/limits.ts';
import type { Message, ToolCall } from '../../domain/message.ts';
import type { ToolDescription } from '../../domain/model.ts';
import type { ContextItem } from '../../domain/version.ts';
import { CATEGORIES, type Category } from './names.ts';
import { labelText, startOf } from './outline.ts';
import type { MessageThinking } from './thinking.ts';

const LARGEST = 5;

/** A message, a part of a message, a tool or a fixed text. */
export interface Piece {
  /** Position in the log. For a summary, the position of the first message that it replaces. Absent for fixed texts. */
  readonly seq?: number;
  readonly name?: string;
  readonly tokens: number;
  /** First 160 characters of the text, on one line. */
  readonly start: string;
}

export interface CategorySize {
  readonly name: Category;
  readonly tokens: number;
  /** Number of pieces. */
  readonly count: number;
  /** The largest pieces, at most five. */
  readonly largest: readonly Piece[];
}

export class CategorySums {
  readonly #sums = new Map<Category, { tokens: number; count: number; largest: Piece[] }>(
    CATEGORIES.map((name) => [name, { tokens: 0, count: 0, largest: [] }]),
  );

  add(name: Category, piece: Piece): void {
    const sum = this.#sums.get(name);
    if (sum === undefined) return;
    sum.tokens += piece.tokens;
    sum.count += 1;
    const { largest } = sum;
    if (largest.length === LARGEST && piece.tokens <= (largest[LARGEST - 1]?.tokens ?? 0)) return;
    largest.splice(largest.findLastIndex(({ tokens }) => tokens >= piece.tokens) + 1, 0, piece);
    largest.length = Math.min(largest.length, LARGEST);
  }

  /** Adds tokens of unknown texts, which cannot be listed as pieces. */
  addUnlisted(name: Category, tokens: number): void {
    const sum = this.#sums.get(name);
    if (sum === undefined || tokens <= 0) return;
    sum.tokens += tokens;
    sum.count = Math.max(1, sum.count);
  }

  get tokens(): number {
    return this.#sums.values().reduce((all, { tokens }) => all + tokens, 0);
  }

  list(): CategorySize[] {
    return [...this.#sums].map(([name, sum]) => ({ name, ...sum }));
  }
}

/** @param call the call that the text belongs to. A count may be cached by the call */
export type CountText = (text: string, call?: ToolCall) => number;

export interface SizedThinking {
  readonly tokens: number;
  readonly version: number;
  readonly start: string;
}

export function sizeThinking({ text, version }: MessageThinking, tokens: number): SizedThinking {
  return { tokens, version, start: startOf(text) };
}

interface AddedItems {
  readonly items: readonly ContextItem[];
  /** Version of the context. Thinking is bound to this version. */
  readonly version: number;
  readonly count: CountText;
  readonly thinkingOf: (message: Message) => SizedThinking | undefined;
}

/** Adds the items of a context. The calls of a message and its thinking count in categories of their own. */
export function* addItems(sums: CategorySums, { items, version, count, thinkingOf }: AddedItems): Interruptible<void> {
  const callNames = new Map<string, string>();
  for (const [index, item] of items.entries()) {
    if (endsSlice(index)) yield;
    const { from: seq, message, tokens } = item;
    const category = categoryOf(item);
    for (const { id, name } of message.toolCalls ?? []) callNames.set(id, name);
    const tool = message.toolCallId === undefined ? undefined : callNames.get(message.toolCallId);
    const piece = { seq, ...(tool !== undefined && { name: tool }) };
    if (category !== 'assistant') {
      sums.add(category, { ...piece, tokens, start: startOf(labelText(message)) });
      continue;
    }
    const callTokens = addCalls(sums, { seq, message, count });
    yield;
    const left = Math.max(0, tokens - callTokens);
    // A message with calls and no text still has tokens for its role and delimiters.
    if (message.content === '') sums.addUnlisted('assistant', left);
    else sums.add('assistant', { seq, tokens: left, start: startOf(message.content) });
    const thinking = thinkingOf(message);
    if (thinking === undefined || thinking.version !== version) continue;
    sums.add('reasoning', { seq, tokens: thinking.tokens, start: thinking.start });
  }
}

function addCalls(
  sums: CategorySums,
  { seq, message, count }: { seq: number; message: Message; count: CountText },
): number {
  let sum = 0;
  for (const call of message.toolCalls ?? []) {
    const { name, arguments: given } = call;
    const tokens = count(name + given, call);
    sums.add('calls', { seq, name, tokens, start: startOf(given) });
    sum += tokens;
  }
  return sum;
}

function categoryOf({ message, segment }: ContextItem): Category {
  if (message.pinned === true) return 'pins';
  if (segment?.kind === 'masked') return 'masked';
  switch (message.role) {
    case 'system':
      return 'system';
    case 'summary':
      return 'summaries';
    case 'user':
      return 'user';
    case 'tool':
      return 'results';
    case 'assistant':
      return 'assistant';
  }
}

/** Texts at the start of every request, as far as they are known. */
export interface FixedTexts {
  readonly system: string;
  readonly tools: readonly ToolDescription[];
  readonly pins: readonly string[];
  readonly count: CountText;
  /** Sizes that a worker recorded. If the known texts are larger, only the recorded sizes count. */
  readonly facts: FixedWeight | undefined;
}

/** Texts that only workers know have a size, but no pieces. */
export function addFixedTexts(sums: CategorySums, { system, tools, pins, count, facts }: FixedTexts): void {
  const piece = (text: string, name?: string): Piece => ({
    ...(name !== undefined && { name }),
    tokens: count(text),
    start: startOf(text),
  });
  const described = tools.map((tool) => ({
    ...piece(JSON.stringify(tool), tool.name),
    start: startOf(tool.description),
  }));
  addKnown(sums, 'system', system === '' ? [] : [piece(system)], facts?.systemTokens);
  addKnown(sums, 'tools', described, facts?.toolTokens);
  addKnown(
    sums,
    'pins',
    pins.map((pin) => piece(pin)),
    facts?.pinTokens,
  );
}

function addKnown(sums: CategorySums, name: Category, pieces: readonly Piece[], recorded: number | undefined): void {
  const known = pieces.reduce((sum, { tokens }) => sum + tokens, 0);
  // The recorded size includes separators, so it is larger than the texts. Texts of a larger size are outdated.
  const isPresent = recorded === undefined || known <= recorded;
  if (isPresent) for (const piece of pieces) sums.add(name, piece);
  sums.addUnlisted(name, (recorded ?? known) - (isPresent ? known : 0));
}

import type { ContextItem } from '../domain/context.ts';
import { type Group, groupMessages } from '../domain/group.ts';
import type { Message, ToolCall, WeighedMessage } from '../domain/message.ts';
import type { Policy } from '../domain/policy.ts';
import { findLiterals, findWords } from '../models/structural/literals.ts';
import type { EvaluatedConversation } from './evaluated-conversation.ts';

/**
 * Shares of the literals (ids, paths, numbers, dates) that later tool calls repeat and a context still contains. 1 if
 * no call repeats a literal.
 */
export interface RecallScore {
  /** Share of the literals that the compacted context contains. */
  readonly compacted: number;
  /**
   * Share of the literals that a sliding window of the same size would contain. The window has the messages that the
   * policy always keeps, and the newest messages.
   */
  readonly evicted: number;
  /** Number of literals that later tool calls repeat. */
  readonly literals: number;
}

/**
 * Measures how many ids, paths, numbers and dates of later tool calls a context still contains. Only literals that the
 * log contained before the call count. Calls before the first version are not counted, because the context was whole.
 */
export class RecallMeter {
  readonly #messages: readonly WeighedMessage[];
  readonly #groups: readonly Group[];
  /** Literals of later tool calls, by the position of the message that repeats them. */
  readonly #asked = new Map<number, readonly string[]>();
  /** For each literal, the numbers of the log entries that contain it, ascending. */
  readonly #seqsOf = new Map<string, number[]>();
  /**
   * Numbers of the log entries in every sliding window: system messages, pinned messages, and the first user message if
   * the policy keeps it.
   */
  readonly #keptSeqs = new Set<number>();
  /** Seq of the first user message, or 0 if the policy does not keep that message. */
  readonly #firstUserSeq: number;
  #shown: Shown | undefined;
  #head = 0;
  #literals = 0;
  #compacted = 0;
  #evicted = 0;

  /** @param messages the whole conversation, from which the literals of later calls are known at the start */
  constructor(messages: readonly WeighedMessage[], { keepFirstUser }: Pick<Policy, 'keepFirstUser'>) {
    this.#messages = messages;
    this.#firstUserSeq = keepFirstUser ? 1 + messages.findIndex(({ message }) => message.role === 'user') : 0;
    this.#groups = groupMessages(messages.map(({ message }) => message));
    messages.forEach(({ message }, position) => {
      const literals = [...new Set((message.toolCalls ?? []).flatMap(literalsOf))];
      if (literals.length > 0) this.#asked.set(position, literals);
      for (const literal of literals) this.#seqsOf.set(literal, []);
    });
  }

  get recall(): RecallScore {
    const shareOf = (held: number): number => (this.#literals === 0 ? 1 : Number((held / this.#literals).toFixed(4)));
    return { compacted: shareOf(this.#compacted), evicted: shareOf(this.#evicted), literals: this.#literals };
  }

  /**
   * Measures how many literals of the next recorded message the context contains. @param tokens size of the context's
   * items
   */
  measure({ head, context }: Pick<EvaluatedConversation, 'head' | 'context'>, tokens: number): void {
    const { version, items } = context;
    const asked = this.#asked.get(head);
    if (asked === undefined || version.number === 0) return;
    this.#readUpTo(head);
    if (this.#shown?.version !== version.number) {
      this.#shown = new Shown(version.number, version.base, items);
    }
    const windowStart = this.#findWindow(head, tokens);
    for (const literal of asked) {
      const seqs = this.#seqsOf.get(literal) ?? [];
      if (seqs.length === 0) continue;
      this.#literals += 1;
      if (this.#shown.holds(literal, seqs)) this.#compacted += 1;
      if (seqs.some((seq) => seq >= windowStart || this.#keptSeqs.has(seq))) this.#evicted += 1;
    }
  }

  #readUpTo(head: number): void {
    for (; this.#head < head; this.#head += 1) {
      const { message } = this.#messages[this.#head] as WeighedMessage;
      const seq = this.#head + 1;
      if (message.role === 'system' || message.pinned === true || seq === this.#firstUserSeq) this.#keptSeqs.add(seq);
      for (const word of wordsOf(message)) {
        const seqs = this.#seqsOf.get(word);
        if (seqs !== undefined && seqs.at(-1) !== seq) seqs.push(seq);
      }
    }
  }

  /** Number of the first log entry of the newest whole groups of messages that fit into the sliding window. */
  #findWindow(head: number, tokens: number): number {
    let left = tokens;
    for (const seq of this.#keptSeqs) left -= (this.#messages[seq - 1] as WeighedMessage).tokens;
    let start = head + 1;
    for (const { positions } of this.#groups.toReversed()) {
      const first = positions[0] as number;
      if (first >= head) continue;
      for (const position of positions) {
        if (position < head && !this.#keptSeqs.has(position + 1))
          left -= (this.#messages[position] as WeighedMessage).tokens;
      }
      if (left < 0) break;
      start = first + 1;
    }
    return start;
  }
}

/**
 * The part of the log that a context version contains: whole messages, and the words of summaries, placeholders and
 * clipped messages.
 */
class Shown {
  readonly version: number;
  readonly #base: number;
  readonly #whole = new Set<number>();
  readonly #words = new Set<string>();

  constructor(version: number, base: number, items: readonly ContextItem[]) {
    this.version = version;
    this.#base = base;
    for (const { segment, from, message } of items) {
      if (segment === undefined) this.#whole.add(from);
      else for (const word of wordsOf(message)) this.#words.add(word);
    }
  }

  holds(literal: string, seqs: readonly number[]): boolean {
    return this.#words.has(literal) || seqs.some((seq) => seq > this.#base || this.#whole.has(seq));
  }
}

function* wordsOf({ content, toolCalls = [] }: Message): Generator<string> {
  yield* findWords(content);
  for (const call of toolCalls) for (const text of textsOf(call)) yield* findWords(text);
}

/**
 * Returns the literals of a tool call, without plain counts, because no later call needs the line numbers of a listing.
 */
function literalsOf(call: ToolCall): string[] {
  return textsOf(call).flatMap((text) =>
    [...findLiterals(text)].filter(({ kind }) => kind !== 'count').map(({ text: literal }) => literal),
  );
}

/**
 * Returns the texts and numbers in a call's arguments. JSON is parsed first, because escapes such as `\n` are not part
 * of a word.
 */
function textsOf({ arguments: text }: ToolCall): string[] {
  try {
    return leavesOf(JSON.parse(text));
  } catch {
    return [text];
  }
}

function leavesOf(value: unknown): string[] {
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(leavesOf);
  // The number is written as in an assignment, because a number alone would be classified as a `count`.
  return [typeof value === 'number' ? `=${value}` : String(value)];
}

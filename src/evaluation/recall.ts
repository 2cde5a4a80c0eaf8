import type { ContextItem } from '../domain/context.ts';
import { type Group, groupMessages } from '../domain/group.ts';
import type { Message, ToolCall, WeighedMessage } from '../domain/message.ts';
import type { Policy } from '../domain/policy.ts';
import { findLiterals, findWords } from '../models/structural/literals.ts';
import type { EvaluatedConversation } from './evaluated-conversation.ts';

/** Shares of the literals that later calls repeat, as far as a context still holds them. 1 if no call repeats one. */
export interface RecallScore {
  /** Share that the compacted context holds. */
  readonly compacted: number;
  /** Share that a sliding window of the same size would hold: what the policy always keeps, and the newest groups. */
  readonly evicted: number;
  /** Number of literals. */
  readonly literals: number;
}

/**
 * Measures how many ids, paths, numbers and dates of later calls a context still holds, among those that the log held before
 * the call. Calls before the first version are not counted, because the context was whole.
 */
export class RecallMeter {
  readonly #messages: readonly WeighedMessage[];
  readonly #groups: readonly Group[];
  /** Literals by the position of the message that repeats them. */
  readonly #asked = new Map<number, readonly string[]>();
  /** Literal → seqs of the log that hold it, ascending. */
  readonly #seqsOf = new Map<string, number[]>();
  /** Seqs in every sliding window: system messages, pins, and the first user message if the policy keeps it. */
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

  /** Measures the literals of the next recorded message. @param tokens size of the context's items */
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

  /** First seq of the newest whole groups that fit. */
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

/** The part of the log that a version shows: whole messages, and the words of summaries, masks and clips. */
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

/** Literals of a call, without counts: no later call needs the numbers of a listing. */
function literalsOf(call: ToolCall): string[] {
  return textsOf(call).flatMap((text) =>
    [...findLiterals(text)].filter(({ kind }) => kind !== 'count').map(({ text: literal }) => literal),
  );
}

/** Texts and numbers of arguments. JSON is parsed, because its escapes (`\n`) are no part of a word. */
function textsOf({ arguments: text }: ToolCall): string[] {
  try {
    return leavesOf(JSON.parse(text));
  } catch {
    return [text];
  }
}

function leavesOf(value: unknown): string[] {
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(leavesOf);
  // Written as in an assignment: a number alone would be a `count`.
  return [typeof value === 'number' ? `=${value}` : String(value)];
}

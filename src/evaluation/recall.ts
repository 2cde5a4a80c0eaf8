import type { ContextItem } from '../domain/context.ts';
import { type Group, groupMessages } from '../domain/group.ts';
import type { Message, ToolCall, WeighedMessage } from '../domain/message.ts';
import type { Policy } from '../domain/policy.ts';
import { findLiterals, findWords } from '../models/structural/literals.ts';
import type { OfflineConversation } from './offline-conversation.ts';

/** Of the literals that calls named again later, the share that still stood there; 1 where none was. */
export interface RecallScore {
  /** in the compacted context */
  readonly compacted: number;
  /** in a window of no more tokens than it: what the policy keeps always, and the newest groups */
  readonly evicted: number;
  /** how many they were */
  readonly literals: number;
}

/**
 * Measures how much of what later calls need a context still holds: their ids, paths, numbers and dates, as far as the log
 * held them before. Calls made before the first version are not asked: nothing was gone then.
 */
export class RecallMeter {
  readonly #messages: readonly WeighedMessage[];
  readonly #groups: readonly Group[];
  /** by position */
  readonly #asked = new Map<number, readonly string[]>();
  /** where a literal that is asked for stands in the log: seqs, ascending */
  readonly #seqsOf = new Map<string, number[]>();
  /** in every window: system messages, pins, the first user message where the policy keeps it */
  readonly #keptSeqs = new Set<number>();
  /** 0 where the policy lets it go */
  readonly #firstUserSeq: number;
  #shown: Shown | undefined;
  #head = 0;
  #literals = 0;
  #compacted = 0;
  #evicted = 0;

  /** @param messages of the whole conversation: what will be asked for is known from the start */
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

  /** Asks for what the message behind the conversation's last one calls with. @param tokens of the context's items */
  measure({ version, head, context }: OfflineConversation, tokens: number): void {
    const asked = this.#asked.get(head);
    if (asked === undefined || version.number === 0) return;
    this.#readUpTo(head);
    if (this.#shown?.version !== version.number) {
      this.#shown = new Shown(version.number, version.base, context.items);
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

  /** The first seq of the newest whole groups that fit. */
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

/** What of the log a version shows: messages as they are, and the words of what stands for others. */
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

/** Numbers of a listing are nothing that a call would need again. */
function literalsOf(call: ToolCall): string[] {
  return textsOf(call).flatMap((text) =>
    [...findLiterals(text)].filter(({ kind }) => kind !== 'count').map(({ text: literal }) => literal),
  );
}

/** What arguments say: of JSON its texts and numbers, since `\n` before a word is no part of it. */
function textsOf({ arguments: text }: ToolCall): string[] {
  try {
    return leavesOf(JSON.parse(text));
  } catch {
    return [text];
  }
}

function leavesOf(value: unknown): string[] {
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(leavesOf);
  // As it stands where something names it: alone, a number is a `count`.
  return [typeof value === 'number' ? `=${value}` : String(value)];
}

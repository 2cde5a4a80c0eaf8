import { type Group, groupMessages } from '../domain/group.ts';
import type { Message, WeighedMessage } from '../domain/message.ts';
import type { Policy } from '../domain/policy.ts';
import type { EvaluatedConversation } from './evaluated-conversation.ts';
import { findReused } from './quality/needles.ts';
import { holds, renderMessage, renderMessages } from './quality/searchable-text.ts';

/**
 * Score for needles. A needle is an identifier that the agent uses within 40 messages after a compaction, and could
 * know only from the messages before. The same text counts once per compaction.
 */
export interface RecallScore {
  /** Share of the needles in the compacted context, from 0 to 1. 1 without needles. */
  readonly compacted: number;
  /** Share of the needles in a sliding window of the same size: messages that are always kept, and the newest. */
  readonly window: number;
  readonly needles: number;
}

/**
 * Measures each new version. Plain words are no needles, because there is no corpus that shows which words are rare.
 */
export class RecallMeter {
  readonly #weighed: readonly WeighedMessage[];
  readonly #messages: readonly Message[];
  readonly #rendered: readonly string[];
  readonly #groups: readonly Group[];
  /** First message that holds each text. A conversation has too many texts to search the messages twice. */
  readonly #firstIndex = new Map<string, number>();
  /** Seqs that every window holds: system messages, pins, and the first user message if it is kept. */
  readonly #keptSeqs: ReadonlySet<number>;
  #needles = 0;
  #compacted = 0;
  #window = 0;

  /** @param weighed the whole conversation. Needles come from messages after a compaction */
  constructor(weighed: readonly WeighedMessage[], { keepFirstUser }: Pick<Policy, 'keepFirstUser'>) {
    this.#weighed = weighed;
    this.#messages = weighed.map(({ message }) => message);
    // System messages hold no needles. They are rendered as empty texts, so that indexes stay the same.
    this.#rendered = this.#messages.map((message) => (message.role === 'system' ? '' : renderMessage(message)));
    this.#groups = groupMessages(this.#messages);
    const firstUser = keepFirstUser ? this.#messages.findIndex(({ role }) => role === 'user') : -1;
    this.#keptSeqs = new Set(
      this.#messages.flatMap(({ role, pinned }, index) =>
        role === 'system' || pinned === true || index === firstUser ? [index + 1] : [],
      ),
    );
  }

  get recall(): RecallScore {
    const shareOf = (held: number): number => (this.#needles === 0 ? 1 : Number((held / this.#needles).toFixed(4)));
    return { compacted: shareOf(this.#compacted), window: shareOf(this.#window), needles: this.#needles };
  }

  /** @param tokens size of the context's items */
  measure({ head, context }: Pick<EvaluatedConversation, 'head' | 'context'>, tokens: number): void {
    const needles = findReused(this.#messages, head, {
      isCommon: () => false,
      isRareWord: () => false,
      isInSource: (text) => this.#firstIndexOf(text) < head,
    });
    if (needles.size === 0) return;
    const compacted = renderMessages(context.items.map(({ message }) => message));
    const windowStart = this.#findWindow(head, tokens);
    const isInWindow = (seq: number): boolean => seq <= head && (seq >= windowStart || this.#keptSeqs.has(seq));
    const window = this.#rendered.filter((_, index) => isInWindow(index + 1)).join('\n');
    for (const text of needles.keys()) {
      this.#needles += 1;
      if (holds(compacted, text)) this.#compacted += 1;
      if (holds(window, text)) this.#window += 1;
    }
  }

  #firstIndexOf(text: string): number {
    const index = this.#firstIndex.get(text) ?? this.#rendered.findIndex((one) => holds(one, text));
    this.#firstIndex.set(text, index);
    return index === -1 ? Infinity : index;
  }

  /** First seq of the newest whole groups that fit into the window. */
  #findWindow(head: number, tokens: number): number {
    let left = tokens;
    for (const seq of this.#keptSeqs) left -= (this.#weighed[seq - 1] as WeighedMessage).tokens;
    let start = head + 1;
    for (const { positions } of this.#groups.toReversed()) {
      const first = positions[0] as number;
      if (first >= head) continue;
      for (const position of positions) {
        if (position < head && !this.#keptSeqs.has(position + 1))
          left -= (this.#weighed[position] as WeighedMessage).tokens;
      }
      if (left < 0) break;
      start = first + 1;
    }
    return start;
  }
}

import type { Message, ToolCall } from '../domain/message.ts';
import type { WireFormat } from '../domain/raw-items.ts';

/** Ids that a format takes. Anthropic's rule is its own; the others are what their servers are known to accept. */
const LEGAL_IDS: Readonly<Record<WireFormat, RegExp>> = {
  anthropic: /^[a-zA-Z0-9_-]{1,64}$/,
  'openai-chat': /^[\x21-\x7e]{1,40}$/,
  'openai-responses': /^[a-zA-Z0-9_-]{1,64}$/,
};

/**
 * Ids of calls as they are sent. The provider's own wins, since what it signed may name it; where it is not legal or stands
 * twice in the request, the log's; where that is not free either, one made from it.
 */
export class CallIds {
  readonly #legal: RegExp;
  /** sent → ours */
  readonly #ours = new Map<string, string>();
  /** ours → sent */
  readonly #sent = new Map<string, string>();
  /** the last number that was tried behind a stem: 10,000 ids with one stem would otherwise try 50,000,000 */
  readonly #numbers = new Map<string, number>();

  constructor(messages: readonly Message[], format: WireFormat) {
    this.#legal = LEGAL_IDS[format];
    for (const { toolCalls = [] } of messages) for (const call of toolCalls) this.#choose(call);
  }

  /** sent → ours */
  get map(): ReadonlyMap<string, string> {
    return this.#ours;
  }

  /** The id under which a call of ours is sent; undefined for a call that the messages do not make. */
  sentOf(id: string): string | undefined {
    return this.#sent.get(id);
  }

  #choose({ id, providerId }: ToolCall): void {
    if (this.#sent.has(id)) return;
    const chosen = [providerId, id].find((candidate) => candidate !== undefined && this.#isFree(candidate));
    const sent = chosen ?? this.#make(id);
    this.#ours.set(sent, id);
    this.#sent.set(id, sent);
  }

  #isFree(candidate: string): boolean {
    return this.#legal.test(candidate) && !this.#ours.has(candidate);
  }

  #make(id: string): string {
    const stem = id.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 32);
    for (let number = (this.#numbers.get(stem) ?? 0) + 1; ; number += 1) {
      const candidate = `${stem}_${number}`;
      if (!this.#isFree(candidate)) continue;
      this.#numbers.set(stem, number);
      return candidate;
    }
  }
}

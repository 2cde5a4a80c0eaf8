import { compactMessages } from './compact-messages.ts';
import type { CompactedMessages } from './compacted-messages.ts';
import type { MessageFormat } from './kinds/kind.ts';
import type { CompactionOptions } from './options.ts';
import type { CompactState } from './state.ts';

/** Conversations whose last call is remembered. */
const MAX_REMEMBERED = 32;

interface RememberedCall {
  /** All messages of the conversation, also those that the caller has replaced by what was returned. */
  readonly given: readonly unknown[];
  readonly returned: readonly unknown[];
  readonly state: CompactState;
}

/**
 * Compacts the messages of several conversations, and remembers the last ones. Slots of other packages give the messages
 * of a request, and no id of their conversation. A conversation is found by its first messages.
 */
export class CompactionMemory {
  readonly #options: CompactionOptions;
  readonly #format: MessageFormat;
  /** The newest call last. */
  readonly #calls: RememberedCall[] = [];

  constructor(options: CompactionOptions, format: MessageFormat) {
    this.#options = options;
    this.#format = format;
  }

  /** @param request system prompt and tools of the request, if the options do not name others */
  async compact<Item>(
    messages: readonly Item[],
    request: Pick<CompactionOptions, 'system' | 'tools'> = {},
  ): Promise<CompactedMessages<Item>> {
    const known = this.#find(messages);
    const given = known === undefined ? messages : (known.whole as readonly Item[]);
    const state = known?.call.state;
    const options = { ...request, ...this.#options, format: this.#format, ...(state && { state }) };
    const compacted = await compactMessages({ ...options, messages: given });
    if (known?.isContinued === true) this.#calls.splice(this.#calls.indexOf(known.call), 1);
    this.#calls.push({ given, returned: compacted.messages, state: compacted.state });
    if (this.#calls.length > MAX_REMEMBERED) this.#calls.shift();
    return compacted;
  }

  #find(messages: readonly unknown[]): FoundCall | undefined {
    let best: { readonly call: RememberedCall; readonly shared: number } | undefined;
    for (const call of this.#calls.toReversed()) {
      const { given, returned } = call;
      // The caller keeps only the returned messages.
      if (returned !== given && countShared(messages, returned) === returned.length) {
        return { call, whole: [...given, ...messages.slice(returned.length)], isContinued: true };
      }
      const shared = countShared(messages, given);
      if (shared > (best?.shared ?? 0)) best = { call, shared };
    }
    return best && { call: best.call, whole: messages, isContinued: best.shared === best.call.given.length };
  }
}

interface FoundCall {
  readonly call: RememberedCall;
  /** All messages of the conversation. */
  readonly whole: readonly unknown[];
  /** True if the messages begin with all messages of the call. */
  readonly isContinued: boolean;
}

function countShared(messages: readonly unknown[], others: readonly unknown[]): number {
  const end = Math.min(messages.length, others.length);
  for (let index = 0; index < end; index += 1) {
    const [one, other] = [messages[index], others[index]];
    if (one !== other && JSON.stringify(one) !== JSON.stringify(other)) return index;
  }
  return end;
}

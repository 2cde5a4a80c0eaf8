import type { ContextItem } from '../domain/context.ts';
import type { ModelPrices } from '../domain/model.ts';

/** US dollars. */
export interface Cost {
  readonly withCache: number;
  readonly withoutCache: number;
}

const TOKENS_PRICED = 1_000_000;

/**
 * What the requests of a conversation cost, and what they would without the provider's prompt cache. Assumed is that each
 * finds what it shares with the one before it, from its start on, and writes the rest: a version makes the next request write
 * everything behind its first change again. Least sizes and expiry of caches are left out.
 */
export class PromptCache {
  readonly #prices: ModelPrices;
  #before: readonly ContextItem[] = [];
  #length = 0;
  #tokens = 0;
  #withCache = 0;
  #withoutCache = 0;

  constructor(prices: ModelPrices) {
    this.#prices = prices;
  }

  get cost(): Cost {
    return { withCache: this.#withCache / TOKENS_PRICED, withoutCache: this.#withoutCache / TOKENS_PRICED };
  }

  /** @param tokens of the whole request, and of its answer */
  add(items: readonly ContextItem[], tokens: number, outputTokens: number): void {
    const { input, cachedInput, cacheWrite, output } = this.#prices;
    const read = Math.min(tokens, this.#readTokens(items));
    this.#withCache += read * cachedInput + (tokens - read) * cacheWrite + outputTokens * output;
    this.#withoutCache += tokens * input + outputTokens * output;
    this.#before = items;
    this.#length = items.length;
    this.#tokens = tokens;
  }

  #readTokens(items: readonly ContextItem[]): number {
    // Without a new version the same list has grown.
    if (items === this.#before) return this.#tokens;
    let tokens = 0;
    for (let position = 0; position < this.#length; position += 1) {
      const [before, now] = [this.#before[position], items[position]];
      if (before === undefined || now === undefined || !isSame(before, now)) break;
      tokens += now.tokens;
    }
    return tokens;
  }
}

function isSame(a: ContextItem, b: ContextItem): boolean {
  return a.from === b.from && a.to === b.to && a.message.content === b.message.content;
}

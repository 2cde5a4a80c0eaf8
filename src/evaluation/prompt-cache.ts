import type { ModelPrices } from '../domain/model.ts';
import { pricesAt } from '../domain/usage.ts';
import type { ContextItem } from '../domain/version.ts';

/** Cost in US dollars. */
export interface ReplayCost {
  readonly withCache: number;
  readonly withoutCache: number;
}

const TOKENS_PRICED = 1_000_000;

/**
 * Computes the cost of a conversation's requests with and without the provider's prompt cache. A request reads the
 * prefix that it shares with the previous request, and writes the rest. A new version is therefore written again from
 * its first change on. Minimum sizes and the expiry of caches are ignored.
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

  get cost(): ReplayCost {
    return { withCache: this.#withCache / TOKENS_PRICED, withoutCache: this.#withoutCache / TOKENS_PRICED };
  }

  /** @param tokens size of the whole request */
  add(items: readonly ContextItem[], tokens: number, outputTokens: number): void {
    const { input, cachedInput, cacheWrite, output } = pricesAt(this.#prices, tokens);
    const read = Math.min(tokens, this.#readTokens(items));
    this.#withCache += read * cachedInput + (tokens - read) * cacheWrite + outputTokens * output;
    this.#withoutCache += tokens * input + outputTokens * output;
    this.#before = items;
    this.#length = items.length;
    this.#tokens = tokens;
  }

  addOutput(tokens: number): void {
    const { output } = pricesAt(this.#prices, this.#tokens);
    this.#withCache += tokens * output;
    this.#withoutCache += tokens * output;
  }

  #readTokens(items: readonly ContextItem[]): number {
    // The list is the same, so messages were only appended, and no new version went live.
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

import { type BpeTokenCounter, type Encoding, loadTokenCounter } from '../wire/tokens/token-counter.ts';

/** Number of characters at which the cache is emptied. */
const MAX_CHARS = 8_388_608;

/** Caches token counts. Passes count the same texts many times, which took a quarter of a replay's time. */
export class RememberedCounts {
  readonly #counters = new Map<Encoding, Promise<BpeTokenCounter>>();

  load(encoding: Encoding): Promise<BpeTokenCounter> {
    const counter = this.#counters.get(encoding) ?? loadTokenCounter(encoding).then(rememberCounts);
    this.#counters.set(encoding, counter);
    return counter;
  }
}

function rememberCounts(counter: BpeTokenCounter): BpeTokenCounter {
  const known = new Map<string, number>();
  let chars = 0;
  const remember = (text: string, tokens: number): number => {
    if (chars + text.length > MAX_CHARS) {
      known.clear();
      chars = 0;
    }
    known.set(text, tokens);
    chars += text.length;
    return tokens;
  };
  return {
    encoding: counter.encoding,
    longestTokenBytes: counter.longestTokenBytes,
    count: async (text) => known.get(text) ?? remember(text, await counter.count(text)),
    countSync: (text) => known.get(text) ?? remember(text, counter.countSync(text)),
    encode: (text) => counter.encode(text),
    clipStart: (text, maxTokens) => counter.clipStart(text, maxTokens),
    clipEnd: (text, maxTokens) => counter.clipEnd(text, maxTokens),
  };
}

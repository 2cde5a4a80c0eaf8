import { runToEnd } from '../../domain/interruptible.ts';
import type { Encoding } from '../../domain/model.ts';
import { clipEnd, clipStart } from './clip.ts';
import { eventLoopShare } from './event-loop-share.ts';
import { KnownPieces } from './known-pieces.ts';
import { ShortMerge } from './merge.ts';
import { SplitTables } from './split-rules.ts';
import { type EncodingTables, tokenize } from './tokenization.ts';
import { importRanks, readVocabulary } from './vocabulary.ts';

export type { Encoding };

/**
 * Counts like tiktoken's `encode_ordinary`: names of special tokens are ordinary text, and a lone surrogate is U+FFFD.
 * `count` and the clips yield after about 8 ms. `countSync` and `encode` block the event loop: 0.02–0.09 µs per byte of
 * real text, at worst 0.35 µs (a run of blanks). 128 KiB of any text take less than 50 ms.
 */
export interface BpeTokenCounter extends TokenCounter {
  readonly encoding: Encoding;
  encode(text: string): number[];
}

const counters = new Map<Encoding, Promise<BpeTokenCounter>>();

/** Takes 20–70 ms at the first call, and yields in between. Rejects if the file of tokens cannot be read. */
export function loadTokenCounter(encoding: Encoding): Promise<BpeTokenCounter> {
  let counter = counters.get(encoding);
  if (counter === undefined) {
    counter = readTokenCounter(encoding).catch((error: unknown) => {
      counters.delete(encoding);
      throw error;
    });
    counters.set(encoding, counter);
  }
  return counter;
}

async function readTokenCounter(encoding: Encoding): Promise<BpeTokenCounter> {
  const vocabulary = await eventLoopShare.run(readVocabulary(await importRanks(encoding)));
  return new RankTokenCounter(encoding, {
    vocabulary,
    split: new SplitTables(encoding),
    shortMerge: new ShortMerge(vocabulary),
    known: new KnownPieces(),
  });
}

class RankTokenCounter implements BpeTokenCounter {
  readonly encoding: Encoding;
  readonly #tables: EncodingTables;

  constructor(encoding: Encoding, tables: EncodingTables) {
    this.encoding = encoding;
    this.#tables = tables;
  }

  get longestTokenBytes(): number {
    return this.#tables.vocabulary.longest;
  }

  async count(text: string): Promise<number> {
    let tokens = 0;
    await eventLoopShare.run(tokenize(this.#tables, text, () => tokens++));
    return tokens;
  }

  countSync(text: string): number {
    let tokens = 0;
    runToEnd(tokenize(this.#tables, text, () => tokens++));
    return tokens;
  }

  encode(text: string): number[] {
    const ids: number[] = [];
    runToEnd(tokenize(this.#tables, text, (id) => ids.push(id)));
    return ids;
  }

  clipStart(text: string, maxTokens: number): Promise<string> {
    return eventLoopShare.run(clipStart(this.#tables, text, maxTokens));
  }

  clipEnd(text: string, maxTokens: number): Promise<string> {
    return eventLoopShare.run(clipEnd(this.#tables, text, maxTokens));
  }
}

/** Counts exactly as a model's tokenizer does. Promises never block the event loop for more than 50 ms. */
export interface TokenCounter {
  /** A text of n tokens has at most n times this many bytes. */
  readonly longestTokenBytes: number;
  count(text: string): Promise<number>;
  countSync(text: string): number;
  /** Returns the longest start with at most `maxTokens` tokens. Its cost grows with `maxTokens`, not with the text. */
  clipStart(text: string, maxTokens: number): Promise<string>;
  clipEnd(text: string, maxTokens: number): Promise<string>;
}

import type { CharClassTable } from './char-class.ts';
import { mergeLong, SHORT_BYTES, type ShortMerge } from './merge.ts';
import { PieceSplitter } from './split-rules.ts';
import { NO_TOKEN, type Vocabulary } from './vocabulary.ts';

/** Number of bytes between two yields, which take about half a millisecond at worst. */
const BYTES_A_SLICE = 8_192;
/** Number of UTF-16 units that are encoded as UTF-8 between two yields. */
const UNITS_A_SLICE = 1 << 20;

/** Tables of an encoding that all its tokenizations share. */
export interface EncodingTables {
  readonly vocabulary: Vocabulary;
  readonly splitRules: Uint8Array;
  readonly chars: CharClassTable;
  readonly shortMerge: ShortMerge;
}

/**
 * Tokenizes a text. Encodes it as UTF-8, splits it into pieces, and merges each piece that is not itself a token.
 * Yields at least once per millisecond. Calls `visit` with each token id, in order.
 */
export function* tokenize(tables: EncodingTables, text: string, visit: (id: number) => void): Generator<void, void> {
  const bytes = yield* encodeUtf8(text);
  const splitter = new PieceSplitter(tables.splitRules, tables.chars, bytes);
  const { vocabulary, shortMerge } = tables;
  let pauseAt = BYTES_A_SLICE;
  while (splitter.start < bytes.length) {
    const start = splitter.start;
    const end = splitter.next(BYTES_A_SLICE);
    if (end < 0) {
      yield;
      continue;
    }
    const id = vocabulary.find(bytes, start, end);
    if (id !== NO_TOKEN) visit(id);
    else if (end - start <= SHORT_BYTES) {
      const parts = shortMerge.merge(bytes, start, end);
      const { starts } = shortMerge;
      for (let part = 0; part < parts; part++) {
        visit(vocabulary.find(bytes, starts[part] as number, starts[part + 1] as number));
      }
    } else yield* mergeLong(vocabulary, { bytes, start, end }, visit);
    if (end >= pauseAt) {
      pauseAt = end + BYTES_A_SLICE;
      yield;
    }
  }
}

function* encodeUtf8(text: string): Generator<void, Uint8Array> {
  if (text.length <= UNITS_A_SLICE) return Buffer.from(text);
  const bytes = Buffer.allocUnsafe(Buffer.byteLength(text));
  let written = 0;
  for (let from = 0; from < text.length; ) {
    let to = from + UNITS_A_SLICE;
    if (isHighSurrogate(text.charCodeAt(to - 1))) to--;
    written += bytes.write(text.slice(from, to), written);
    from = to;
    yield;
  }
  return bytes;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}

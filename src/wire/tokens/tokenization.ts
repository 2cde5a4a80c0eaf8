/**
 * turnfold counts every text of every context exactly as tiktoken does, so counting may neither be slow nor block the
 * event loop. The encoder of js-tiktoken is quadratic in the length of a piece: 20,000 equal letters would take a
 * minute. The encoder needs 5 to 11 times as long for real text as this code, and 18 to 132 times for text counted
 * before (docs/explanation/performance.md). turnfold uses only its token files.
 *
 * A text passes these steps:
 * - `PieceSplitter` splits its UTF-8 bytes into words, numbers and blanks, as a state machine that can be interrupted.
 * - `KnownPieces` remembers the tokens of earlier pieces, because words and phrases repeat.
 * - `Vocabulary` holds the pieces that are one token.
 * - Other pieces are merged byte by byte: `ShortMerge` up to 128 bytes, above it `mergeLong` in O(n log n).
 *
 * Each step yields at least once per millisecond, and `EventLoopShare` decides how long a process may count before
 * other work. `clip.ts` finds the longest start or end of a text with a given number of tokens.
 */

import { KNOWN_BYTES, type KnownPieces } from './known-pieces.ts';
import { type BytePiece, mergeLong, SHORT_BYTES, type ShortMerge } from './merge.ts';
import { PieceSplitter, type SplitTables } from './split-rules.ts';
import { NO_TOKEN, type Vocabulary } from './vocabulary.ts';

const BYTES_A_SLICE = 8_192;
/** UTF-16 units that are encoded as UTF-8 between two yields. */
const UNITS_A_SLICE = 1 << 20;

export interface EncodingTables {
  readonly vocabulary: Vocabulary;
  readonly split: SplitTables;
  readonly shortMerge: ShortMerge;
  readonly known: KnownPieces;
}

/** Calls `visit` with each token id, in order. */
export function* tokenize(tables: EncodingTables, text: string, visit: (id: number) => void): Generator<void, void> {
  const bytes = yield* encodeUtf8(text);
  const splitter = new PieceSplitter(tables.split, bytes);
  const { known } = tables;
  let pauseAt = BYTES_A_SLICE;
  while (splitter.start < bytes.length) {
    const start = splitter.start;
    const end = splitter.next(BYTES_A_SLICE);
    if (end < 0) {
      yield;
      continue;
    }
    const { hash } = splitter;
    const slot = known.find(hash, bytes, start, end);
    if (slot >= 0) known.visit(slot, visit);
    else yield* mergePiece(tables, hash, { bytes, start, end }, visit);
    if (end >= pauseAt) {
      pauseAt = end + BYTES_A_SLICE;
      yield;
    }
  }
}

function* mergePiece(
  { vocabulary, known, shortMerge }: EncodingTables,
  hash: number,
  piece: BytePiece,
  visit: (id: number) => void,
): Generator<void, void> {
  const { bytes, start, end } = piece;
  const id = vocabulary.findHashed(hash, bytes, start, end);
  if (id !== NO_TOKEN) {
    known.add(hash, piece, [id], 1);
    visit(id);
  } else if (end - start <= SHORT_BYTES) {
    const count = shortMerge.merge(bytes, start, end);
    known.add(hash, piece, shortMerge.ids, count);
    for (let at = 0; at < count; at++) visit(shortMerge.ids[at] as number);
  } else if (end - start <= KNOWN_BYTES) {
    const merged: number[] = [];
    yield* mergeLong(vocabulary, piece, (token) => merged.push(token));
    known.add(hash, piece, merged, merged.length);
    for (const token of merged) visit(token);
  } else yield* mergeLong(vocabulary, piece, visit);
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

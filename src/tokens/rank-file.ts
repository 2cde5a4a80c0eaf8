import type { Encoding } from './encoding.ts';
import { Vocabulary } from './vocabulary.ts';

const TOKENS_A_SLICE = 4_096;
const HEADER = '! 0 ';
const SPACE = 0x20;
const PADDING = 0x3d;

/**
 * Imports the rank file of an encoding as text: `! 0 <token> <token> …`, with tokens in base64 in the order of their
 * ids. The import of 2.3 or 1.1 MB in one string literal blocks the event loop once for 12–20 ms. It cannot be sliced.
 */
export async function importRanks(encoding: Encoding): Promise<string> {
  const module =
    encoding === 'o200k_base'
      ? await import('js-tiktoken/ranks/o200k_base')
      : await import('js-tiktoken/ranks/cl100k_base');
  const ranks = module.default.bpe_ranks;
  // Older files, e.g. for gpt2, have several lines with offsets of their own. These two files do not.
  if (!ranks.startsWith(HEADER) || ranks.includes('\n')) throw new Error(`unknown rank file format for ${encoding}`);
  return ranks.slice(HEADER.length);
}

/** Reads the tokens in slices of about a millisecond (50 slices for o200k_base). */
export function* readVocabulary(ranks: string): Generator<void, Vocabulary> {
  const vocabulary = new Vocabulary({ tokens: countTokens(ranks), bytes: Math.ceil(ranks.length * 0.75) });
  const token = new Uint8Array(256);
  let length = 0;
  let bits = 0;
  let held = 0;
  for (let index = 0; index <= ranks.length; index++) {
    const char = index < ranks.length ? ranks.charCodeAt(index) : SPACE;
    if (char === SPACE) {
      vocabulary.add(token.subarray(0, length));
      length = held = 0;
      if (vocabulary.size % TOKENS_A_SLICE === 0) yield;
    } else if (char !== PADDING) {
      bits = (bits << 6) | sextet(char);
      held += 6;
      if (held >= 8) {
        held -= 8;
        token[length++] = bits >> held;
      }
    }
  }
  return vocabulary;
}

function countTokens(ranks: string): number {
  let tokens = 1;
  for (let index = ranks.indexOf(' '); index >= 0; index = ranks.indexOf(' ', index + 1)) tokens++;
  return tokens;
}

/** Decodes a base64 digit (A–Z a–z 0–9 + /) to six bits. */
function sextet(char: number): number {
  if (char >= 0x61) return char - 0x47;
  if (char >= 0x41) return char - 0x41;
  if (char >= 0x30) return char + 4;
  return char === 0x2b ? 62 : 63;
}

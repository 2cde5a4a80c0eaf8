/**
 * Letters differ by their part in English contractions, as do capitals:
 * - `s`, for s, t, m and d, stands alone: 's, 't.
 * - `r`, for r and v, needs an `e`: 're, 've.
 * - `l` needs a second l: 'll.
 */
export const CHAR_CLASSES = [
  'unknown',
  ...(['lower', 's', 'r', 'l', 'e'] as const),
  ...(['upper', 'S', 'R', 'L', 'E'] as const),
  'caseless',
  'mark',
  'number',
  'newline',
  'space',
  'blank',
  'apostrophe',
  'slash',
  'symbol',
  'end',
] as const;

export type CharClass = (typeof CHAR_CLASSES)[number];

/**
 * Characters of Unicode 17 (Node 24). tiktoken has Unicode 16 and takes them for symbols. A test compares all
 * characters, and prints what to add here for a newer Node.
 */
const NEWER_THAN_TIKTOKEN =
  /[\u1ACF-\u1ADD\u1AE0-\u1AEB\u088F\u0C5C\u0CDC\uA7CE\uA7CF\uA7D2\uA7D4\uA7F1\u{10940}-\u{10959}\u{10EC5}-\u{10EC7}\u{10EFA}\u{10EFB}\u{11B60}-\u{11B67}\u{11DB0}-\u{11DDB}\u{11DE0}-\u{11DE9}\u{16EA0}-\u{16EB8}\u{16EBB}-\u{16ED3}\u{16FF2}-\u{16FF6}\u{187F8}-\u{187FF}\u{18D09}-\u{18D1E}\u{18D80}-\u{18DF2}\u{1E6C0}-\u{1E6FF}\u{2B73A}-\u{2B73F}\u{2CEA2}-\u{2CEAD}\u{323B0}-\u{33479}]/u;

const DEFINITIONS: readonly (readonly [CharClass, RegExp])[] = [
  // In Rust, (?i:'s) also matches U+017F (long s), the only such character outside of ASCII.
  ['s', /[stmd\u017F]/],
  ['r', /[rv]/],
  ['l', /l/],
  ['e', /e/],
  ['S', /[STMD]/],
  ['R', /[RV]/],
  ['L', /L/],
  ['E', /E/],
  ['newline', /[\r\n]/],
  ['space', / /],
  ['apostrophe', /'/],
  ['slash', /\//],
  // White space as in Rust's \s. JavaScript's \s lacks U+0085 and includes U+FEFF.
  ['blank', /\p{White_Space}/u],
  ['symbol', NEWER_THAN_TIKTOKEN],
  ['lower', /\p{Ll}/u],
  ['upper', /[\p{Lu}\p{Lt}]/u],
  ['caseless', /[\p{Lm}\p{Lo}]/u],
  ['mark', /\p{M}/u],
  ['number', /\p{N}/u],
];

const symbol = CHAR_CLASSES.indexOf('symbol');

/** Class of each code point. 0: not known yet, `classify` has to be called. Uses only a few pages of its 1.1 MB. */
export class CharClassTable {
  readonly classes = new Uint8Array(0x110000);

  constructor() {
    for (let codePoint = 0; codePoint < 0x80; codePoint++) this.classify(codePoint);
  }

  classify(codePoint: number): number {
    const text = String.fromCodePoint(codePoint);
    const found = DEFINITIONS.find(([, pattern]) => pattern.test(text))?.[0];
    const charClass = found === undefined ? symbol : CHAR_CLASSES.indexOf(found);
    this.classes[codePoint] = charClass;
    return charClass;
  }
}

import type { Encoding } from '../../domain/model.ts';
import { CHAR_CLASSES, type CharClass, CharClassTable } from './char-class.ts';
import { FNV_OFFSET, FNV_PRIME } from './vocabulary.ts';

/**
 * The split patterns `pat_str` of tiktoken's encodings, as state machines over character classes. A regular expression
 * would be shorter, but cannot be interrupted (64 ms for 1,000,000 Chinese characters). A regular expression also has
 * Node's version of Unicode instead of tiktoken's, and takes three times as long beyond Latin-1.
 *
 * A rule gives the next state for a character class, and one of these moves:
 * - `take`: the piece may end after this character.
 * - `before`: the piece may end before this character.
 * - `keep`: the last possible end of the piece stays, as in the backtracking of a regular expression.
 *
 * Without a matching rule, the piece ends at its last possible end: the leftmost-first choice of a regular expression,
 * not the longest match.
 */
type Move = 'take' | 'before' | 'keep';
type Rule = readonly [classes: readonly CharClass[], next: string, move: Move];
type Rules = Readonly<Record<string, readonly Rule[]>>;

const LOWER = ['lower', 's', 'r', 'l', 'e'] as const;
const UPPER = ['upper', 'S', 'R', 'L', 'E'] as const;
const LETTER = [...LOWER, ...UPPER, 'caseless'] as const;
const EITHER = ['caseless', 'mark'] as const;
const SYMBOL = ['symbol', 'apostrophe', 'slash'] as const;
const BLANK = ['space', 'blank'] as const;

/** Rules for `\p{N}{1,3}`, `\s*[\r\n]+`, `\s+(?!\S)` and `\s+`, which all encodings share. */
const COMMON: Rules = {
  digit: [[['number'], 'secondDigit', 'take']],
  secondDigit: [[['number'], 'thirdDigit', 'take']],
  thirdDigit: [],
  blanks: [
    [BLANK, 'blanks', 'before'],
    [['newline'], 'newlines', 'take'],
    [['end'], 'start', 'before'],
  ],
  newlines: [
    [['newline'], 'newlines', 'take'],
    [BLANK, 'indent', 'keep'],
  ],
  indent: [
    [['newline'], 'newlines', 'take'],
    [BLANK, 'indent', 'keep'],
  ],
  contracted: [],
};

const START: readonly Rule[] = [
  [['number'], 'digit', 'take'],
  [['newline'], 'newlines', 'take'],
  [['space'], 'space', 'take'],
  [['blank'], 'blank', 'take'],
];

const AFTER_BLANK: readonly Rule[] = [
  [BLANK, 'blanks', 'before'],
  [['newline'], 'newlines', 'take'],
];

/** Words of o200k_base: capitals, then lower case. Letters without case, and marks, count as both. */
const O200K_WORD: readonly Rule[] = [
  [UPPER, 'capitals', 'take'],
  [LOWER, 'word', 'take'],
  [EITHER, 'either', 'take'],
];

const O200K: Rules = {
  ...COMMON,
  start: [...O200K_WORD, ...START, [SYMBOL, 'symbol', 'take']],
  space: [...O200K_WORD, ...AFTER_BLANK, [SYMBOL, 'symbols', 'take']],
  blank: [...O200K_WORD, ...AFTER_BLANK],
  symbol: [...O200K_WORD, [SYMBOL, 'symbols', 'take'], [['newline'], 'symbolsEnd', 'take']],
  symbols: [
    [[...SYMBOL, 'mark'], 'symbols', 'take'],
    [['newline'], 'symbolsEnd', 'take'],
  ],
  symbolsEnd: [[['newline', 'slash'], 'symbolsEnd', 'take']],
  capitals: [...O200K_WORD, [['apostrophe'], 'suffix', 'keep']],
  either: [
    [UPPER, 'eitherThenCapitals', 'keep'],
    [LOWER, 'word', 'take'],
    [EITHER, 'either', 'take'],
    [['apostrophe'], 'suffix', 'keep'],
  ],
  // The first alternative must end in a lower-case or caseless letter, so capitals at its end begin the next piece.
  eitherThenCapitals: [
    [UPPER, 'eitherThenCapitals', 'keep'],
    [LOWER, 'word', 'take'],
    [EITHER, 'either', 'take'],
  ],
  word: [
    [[...LOWER, ...EITHER], 'word', 'take'],
    [['apostrophe'], 'suffix', 'keep'],
  ],
  suffix: [
    [['s', 'S'], 'contracted', 'take'],
    [['r', 'R'], 'suffixR', 'keep'],
    [['l', 'L'], 'suffixL', 'keep'],
  ],
  suffixR: [[['e', 'E'], 'contracted', 'take']],
  suffixL: [[['l', 'L'], 'contracted', 'take']],
};

const CL100K_SYMBOL = [...SYMBOL, 'mark'] as const;
const CL100K_AFTER_SYMBOL: readonly Rule[] = [
  [LETTER, 'word', 'take'],
  [CL100K_SYMBOL, 'symbols', 'take'],
  [['newline'], 'symbolsEnd', 'take'],
];

/** Rules of cl100k_base. A later rule of a state overrides an earlier rule. */
const CL100K: Rules = {
  ...COMMON,
  start: [
    ...START,
    [LETTER, 'word', 'take'],
    [CL100K_SYMBOL, 'symbol', 'take'],
    [['apostrophe'], 'apostrophe', 'take'],
  ],
  space: [...AFTER_BLANK, [LETTER, 'word', 'take'], [CL100K_SYMBOL, 'symbols', 'take']],
  blank: [...AFTER_BLANK, [LETTER, 'word', 'take']],
  symbol: CL100K_AFTER_SYMBOL,
  symbols: CL100K_AFTER_SYMBOL.slice(1),
  symbolsEnd: [[['newline'], 'symbolsEnd', 'take']],
  apostrophe: [
    ...CL100K_AFTER_SYMBOL,
    [['s', 'S'], 'contracted', 'take'],
    [['r', 'R'], 'apostropheR', 'take'],
    [['l', 'L'], 'apostropheL', 'take'],
  ],
  apostropheR: [
    [LETTER, 'word', 'take'],
    [['e', 'E'], 'contracted', 'take'],
  ],
  apostropheL: [
    [LETTER, 'word', 'take'],
    [['l', 'L'], 'contracted', 'take'],
  ],
  word: [[LETTER, 'word', 'take']],
};

const RULES: Readonly<Record<Encoding, Rules>> = { o200k_base: O200K, cl100k_base: CL100K };

/** Bits of the class in an index of the compiled table: `table[(state << ROW_BITS) | class]`. State 0 is the start. */
const ROW_BITS = 5;
/** Low bits of an entry, which hold the move. The higher bits hold the next state. 0: no rule matches. */
const MOVE_BITS = 2;
const TAKE = 1;
const BEFORE = 2;
const KEEP = 3;
const MOVES: Readonly<Record<Move, number>> = { take: TAKE, before: BEFORE, keep: KEEP };

function compileSplitRules(encoding: Encoding): Uint8Array {
  const rules = RULES[encoding];
  const states = ['start', ...Object.keys(rules).filter((state) => state !== 'start')];
  const table = new Uint8Array(states.length << ROW_BITS);
  states.forEach((state, row) => {
    for (const [classes, next, move] of rules[state] ?? []) {
      const entry = (states.indexOf(next) << MOVE_BITS) | MOVES[move];
      for (const name of classes) table[(row << ROW_BITS) | CHAR_CLASSES.indexOf(name)] = entry;
    }
  });
  return table;
}

const ASCII_BITS = 7;
const ASCII_MASK = (1 << ASCII_BITS) - 1;
const END = CHAR_CLASSES.indexOf('end');
const MOVE_MASK = (1 << MOVE_BITS) - 1;

export class SplitTables {
  readonly rules: Uint8Array;
  readonly chars = new CharClassTable();
  /** `ascii[(state << 7) | character]` saves the look-up of the class. */
  readonly ascii: Uint8Array;

  constructor(encoding: Encoding) {
    this.rules = compileSplitRules(encoding);
    const states = this.rules.length >> ROW_BITS;
    this.ascii = new Uint8Array(states << ASCII_BITS);
    this.ascii.forEach((_, index) => {
      const charClass = this.chars.classes[index & ASCII_MASK] as number;
      this.ascii[index] = this.rules[((index >> ASCII_BITS) << ROW_BITS) | charClass] as number;
    });
  }
}

export class PieceSplitter {
  start = 0;
  hash = FNV_OFFSET;
  readonly #tables: SplitTables;
  readonly #bytes: Uint8Array;
  #state = 0;
  #position = 0;
  #end = 0;
  /** Hash of the bytes up to the current position. */
  #running = FNV_OFFSET;

  constructor(tables: SplitTables, bytes: Uint8Array) {
    this.#tables = tables;
    this.#bytes = bytes;
  }

  /** Returns the end of the next piece in bytes, or −1 if it is beyond `maxBytes`: the caller must call again. */
  next(maxBytes: number): number {
    const bytes = this.#bytes;
    const { rules, ascii, chars } = this.#tables;
    const classes = chars.classes;
    const limit = Math.min(bytes.length, this.#position + maxBytes);
    let position = this.#position;
    let state = this.#state;
    let end = this.#end;
    let running = this.#running;
    let hash = this.hash;
    let move = TAKE;
    while (position < limit) {
      const lead = bytes[position] as number;
      let next = position + 1;
      if (lead < 0x80) move = ascii[(state << ASCII_BITS) | lead] as number;
      else {
        next = position + (lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4);
        const codePoint = decodeAt(bytes, position, next - position);
        move = rules[(state << ROW_BITS) | (classes[codePoint] || chars.classify(codePoint))] as number;
      }
      if (move === 0) break;
      state = move >> MOVE_BITS;
      const kind = move & MOVE_MASK;
      if (kind === BEFORE) {
        end = position;
        hash = running;
      }
      for (running = Math.imul(running ^ lead, FNV_PRIME); ++position < next; )
        running = Math.imul(running ^ (bytes[position] as number), FNV_PRIME);
      if (kind === TAKE) {
        end = position;
        hash = running;
      }
    }
    this.hash = hash;
    if (move !== 0 && position < bytes.length) {
      this.#position = position;
      this.#state = state;
      this.#end = end;
      this.#running = running;
      return -1;
    }
    if (move !== 0 && ((rules[(state << ROW_BITS) | END] as number) & MOVE_MASK) === BEFORE) {
      end = position;
      this.hash = running;
    }
    this.start = end;
    this.#position = end;
    this.#state = 0;
    this.#end = end;
    this.#running = FNV_OFFSET;
    return end;
  }
}

/** Reads without validation, because the bytes come from an encoder. */
function decodeAt(bytes: Uint8Array, position: number, width: number): number {
  const lead = bytes[position] as number;
  const second = (bytes[position + 1] as number) & 0x3f;
  if (width === 2) return ((lead & 0x1f) << 6) | second;
  const third = (bytes[position + 2] as number) & 0x3f;
  if (width === 3) return ((lead & 0x0f) << 12) | (second << 6) | third;
  return ((lead & 0x07) << 18) | (second << 12) | (third << 6) | ((bytes[position + 3] as number) & 0x3f);
}

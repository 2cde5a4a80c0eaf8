import { ReplyError } from '../reply.ts';

/** Options of a Redis command, in any order: single words, and words that are followed by values. */
export class Options {
  readonly #words: readonly string[];
  readonly #given: readonly string[];

  constructor(given: readonly string[]) {
    this.#given = given;
    this.#words = given.map((word) => word.toUpperCase());
  }

  has(word: string): boolean {
    return this.#words.includes(word);
  }

  after(word: string, distance = 1): string | undefined {
    const at = this.#words.indexOf(word);
    return at === -1 ? undefined : this.#given[at + distance];
  }

  numberAfter(word: string, distance = 1): number | undefined {
    const found = this.after(word, distance);
    return found === undefined ? undefined : readInteger(found);
  }
}

export function readInteger(text: string): number {
  if (!/^-?\d+$/.test(text)) throw new ReplyError('ERR value is not an integer or out of range');
  return Number(text);
}

export function indexIn(list: readonly unknown[], text: string): number {
  const at = readInteger(text);
  return at < 0 ? list.length + at : at;
}

export function rangeOf<Item>(list: readonly Item[], from: string, to: string): Item[] {
  return list.slice(Math.max(0, indexIn(list, from)), Math.max(0, indexIn(list, to) + 1));
}

/** Splits a flat list into pairs: `[a, 1, b, 2]` becomes `[[a, 1], [b, 2]]`. */
export function readPairs(flat: readonly string[], command: string): [string, string][] {
  if (flat.length === 0 || flat.length % 2 === 1) throw wrongNumber(command);
  return flat.flatMap((item, at) => (at % 2 === 0 ? [[item, flat[at + 1] as string]] : []));
}

export function wrongNumber(command: string): ReplyError {
  return new ReplyError(`ERR wrong number of arguments for '${command.toLowerCase()}' command`);
}

/** Reads a pattern of MATCH or KEYS: `*`, `?`, `[ab]` and `\` before a character. */
export function readPattern(pattern: string): RegExp {
  const source = pattern.replaceAll(/\\.|[*?.+^${}()|\\/]/gs, (part) => {
    if (part === '*') return '.*';
    return part === '?' ? '.' : `\\${part.at(-1)}`;
  });
  return new RegExp(`^${source}$`, 's');
}

import { ReplyError } from './reply.ts';

export interface StoredEntry {
  /** Id of the form `<ms>-<number>`. */
  readonly id: string;
  readonly fields: readonly string[];
}

type Id = readonly [ms: number, number: number];

export class Stream {
  #entries: StoredEntry[] = [];
  #last: Id = [0, 0];

  get size(): number {
    return this.#entries.length;
  }

  /** @param given the id as in XADD: `*`, `<ms>-*` or a whole id */
  add(given: string, fields: readonly string[], now: number): string {
    const next = this.#nextId(given, now);
    if (compareIds(next, this.#last) <= 0)
      throw new ReplyError('ERR The ID specified in XADD is equal or smaller than the target stream top item');
    this.#last = next;
    const id = next.join('-');
    this.#entries.push({ id, fields });
    return id;
  }

  trim(isKept: (entry: StoredEntry, at: number) => boolean): number {
    const before = this.#entries.length;
    this.#entries = this.#entries.filter(isKept);
    return before - this.#entries.length;
  }

  keepNewest(count: number): number {
    const first = this.#entries.length - count;
    return first <= 0 ? 0 : this.trim((_, at) => at >= first);
  }

  /** Entries between two ids. `-` and `+` are the ends, and `(` excludes the limit itself. */
  between(min: string, max: string): readonly StoredEntry[] {
    const [low, high] = [readLimit(min, 0), readLimit(max, Number.POSITIVE_INFINITY)];
    const from = this.#countBelow((id) => compareIds(id, low.id) < (low.isOpen ? 1 : 0));
    return this.#entries.slice(
      from,
      this.#countBelow((id) => compareIds(id, high.id) < (high.isOpen ? 0 : 1)),
    );
  }

  /** Counts the entries at the beginning for which `isBelow` holds, by binary search. */
  #countBelow(isBelow: (id: Id) => boolean): number {
    let [least, most] = [0, this.#entries.length];
    while (least < most) {
      const middle = (least + most) >>> 1;
      if (isBelow(readId(this.#entries[middle]?.id ?? '', 0))) least = middle + 1;
      else most = middle;
    }
    return least;
  }

  #nextId(given: string, now: number): Id {
    const [lastMs, lastNumber] = this.#last;
    if (given === '*') return now > lastMs ? [now, 0] : [lastMs, lastNumber + 1];
    if (!given.endsWith('-*')) return readId(given, 0);
    const ms = Number(given.slice(0, -2));
    return [ms, ms === lastMs ? lastNumber + 1 : 0];
  }
}

function readLimit(text: string, number: number): { readonly id: Id; readonly isOpen: boolean } {
  if (text === '-') return { id: [0, 0], isOpen: false };
  if (text === '+') return { id: [Number.POSITIVE_INFINITY, 0], isOpen: false };
  const isOpen = text.startsWith('(');
  return { id: readId(isOpen ? text.slice(1) : text, number), isOpen };
}

function readId(text: string, missing: number): Id {
  const found = /^(\d+)(?:-(\d+))?$/.exec(text);
  if (found === null) throw new ReplyError('ERR Invalid stream ID specified as stream command argument');
  return [Number(found[1]), found[2] === undefined ? missing : Number(found[2])];
}

function compareIds([ms, number]: Id, [otherMs, otherNumber]: Id): number {
  return ms - otherMs || number - otherNumber;
}

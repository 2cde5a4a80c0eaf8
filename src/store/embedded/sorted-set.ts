import { ReplyError } from './reply.ts';

export interface Scored {
  readonly member: string;
  readonly score: number;
}

/** Ordered by score, then by the bytes of the members. */
export class SortedSet {
  readonly #scores = new Map<string, number>();
  #ordered: Scored[] = [];

  get size(): number {
    return this.#scores.size;
  }

  scoreOf(member: string): number | undefined {
    return this.#scores.get(member);
  }

  set(member: string, score: number): void {
    const old = this.#scores.get(member);
    if (old === score) return;
    if (old !== undefined) this.delete(member);
    this.#scores.set(member, score);
    this.#ordered.splice(this.#findPlace({ member, score }), 0, { member, score });
  }

  delete(member: string): boolean {
    const score = this.#scores.get(member);
    if (score === undefined) return false;
    this.#scores.delete(member);
    this.#ordered.splice(this.#findPlace({ member, score }), 1);
    return true;
  }

  get entries(): readonly Scored[] {
    return this.#ordered;
  }

  rankOf(member: string): number | undefined {
    const score = this.#scores.get(member);
    return score === undefined ? undefined : this.#findPlace({ member, score });
  }

  between(min: Bound, max: Bound): readonly Scored[] {
    const from = this.#ordered.findIndex(({ score }) => isOver(score, min));
    if (from === -1) return [];
    let to = from;
    while (to < this.#ordered.length && isUnder(this.#ordered[to]?.score ?? 0, max)) to += 1;
    return this.#ordered.slice(from, to);
  }

  #findPlace(entry: Scored): number {
    let [low, high] = [0, this.#ordered.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isBefore(this.#ordered[middle] as Scored, entry)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

export interface Bound {
  readonly score: number;
  readonly isOpen: boolean;
}

/** Reads a limit of scores: `5`, `(5`, `-inf` or `+inf`. */
export function readBound(text: string): Bound {
  const isOpen = text.startsWith('(');
  const score = parseScore(isOpen ? text.slice(1) : text);
  if (Number.isNaN(score)) throw new ReplyError('ERR min or max is not a float');
  return { score, isOpen };
}

export function readScore(text: string): number {
  const score = parseScore(text);
  if (Number.isNaN(score)) throw new ReplyError('ERR value is not a valid float');
  return score;
}

function parseScore(text: string): number {
  if (/^[+-]?inf$/i.test(text)) return text.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  return text === '' ? Number.NaN : Number(text);
}

export function writeScore(score: number): string {
  return Number.isFinite(score) ? String(score) : score > 0 ? 'inf' : '-inf';
}

function isBefore(one: Scored, other: Scored): boolean {
  return one.score < other.score || (one.score === other.score && one.member < other.member);
}

function isOver(score: number, { score: min, isOpen }: Bound): boolean {
  return isOpen ? score > min : score >= min;
}

function isUnder(score: number, { score: max, isOpen }: Bound): boolean {
  return isOpen ? score < max : score <= max;
}

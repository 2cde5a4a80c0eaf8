import { findWords, type Literal, type LiteralKind } from './literals.ts';

/** Where a literal stood; what a model wrote into a call it is likelier to write again than what it only read. */
export type LiteralSource = 'argument' | 'result' | 'text';

const SOURCE_WEIGHT: Readonly<Record<LiteralSource, number>> = { argument: 3, text: 0.6, result: 1 };
const KIND_WEIGHT: Readonly<Record<LiteralKind, number>> = { id: 1, path: 1, date: 1, number: 0.4, count: 0.05 };
/** An old literal counts this much of a new one. */
const OLDEST = 0.5;
/** Paths deeper than this are not looked at for the folders above them. */
const MAX_DEPTH = 16;

interface Entry {
  readonly kind: LiteralKind;
  source: LiteralSource;
  uses: number;
  position: number;
}

/** All literals of a sequence: how often, where last, and by whom they were named. */
export class LiteralLedger {
  readonly #entries = new Map<string, Entry>();
  /** by line; a line is asked for at every attempt to write the text */
  readonly #named = new Map<string, ReadonlySet<string>>();
  readonly #messageCount: number;

  constructor(messageCount: number) {
    this.#messageCount = messageCount;
  }

  note(literals: Iterable<Literal>, source: LiteralSource, position: number): void {
    this.#named.clear();
    for (const { text, kind } of literals) {
      const entry = this.#entries.get(text);
      if (entry === undefined) {
        this.#entries.set(text, { kind, source, uses: 1, position });
      } else {
        entry.uses += 1;
        entry.position = position;
        if (SOURCE_WEIGHT[source] > SOURCE_WEIGHT[entry.source]) entry.source = source;
      }
    }
  }

  weightOf(text: string): number {
    const entry = this.#entries.get(text);
    if (entry === undefined) return 0;
    const recency = OLDEST + (1 - OLDEST) * ((entry.position + 1) / this.#messageCount);
    return SOURCE_WEIGHT[entry.source] * KIND_WEIGHT[entry.kind] * recency * (1 + Math.log2(entry.uses) / 4);
  }

  /** The heaviest literals, heaviest first; equals in the order in which they came. */
  heaviest(count: number): string[] {
    const weighed = [...this.#entries.keys()].map((text) => ({ text, weight: this.weightOf(text) }));
    weighed.sort((a, b) => b.weight - a.weight);
    return weighed.slice(0, count).map(({ text }) => text);
  }

  /** The known literals that a line names, whole or as a folder of a longer path. */
  namedIn(line: string): ReadonlySet<string> {
    const known = this.#named.get(line);
    if (known !== undefined) return known;
    const named = new Set<string>();
    this.#named.set(line, named);
    for (const word of findWords(line)) {
      for (const text of withFolders(word)) if (this.#entries.has(text)) named.add(text);
    }
    return named;
  }
}

function withFolders(word: string): string[] {
  const texts = [word];
  let end = word.lastIndexOf('/');
  for (; end > 0 && texts.length < MAX_DEPTH; end = word.lastIndexOf('/', end - 1)) texts.push(word.slice(0, end));
  return texts;
}

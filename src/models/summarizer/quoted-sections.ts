import type { Fragment, Ledger } from '../../domain/evidence/ledger.ts';
import { splitSentences } from '../../domain/evidence/sentences.ts';
import { scanTerms } from '../../domain/evidence/terms.ts';
import { endsSlice, type Sliced } from '../../domain/sliced.ts';
import type { LogQuotes, Speaker } from './log-quotes.ts';
import { ASKED_SECTIONS, SECTIONS, type Section, type Sections } from './sections.ts';

/** Lines of each section. */
export type QuotedSections = ReadonlyMap<Section, readonly string[]>;

/** Share of a sentence's weight that a record must hold, so that the sentence counts as taken from that record. */
const MIN_SHARE = 0.35;
/** Share of a sentence's weight for which a further record of the same message is quoted. */
const MIN_ADDED = 0.25;
const MAX_RECORDS = 3;
/** Sections that are filled first, because each record is quoted once. */
const FIRST: readonly Section[] = ['constraints', 'requests', 'goal'];

/**
 * Replaces each sentence of a model by the records of the log from which it took its words. So a model chooses what a
 * summary says, and states nothing. A sentence whose words no record holds is dropped.
 * @param sections answer of a model
 */
export function* quoteSections(sections: Sections, ledger: Ledger, quotes: LogQuotes): Sliced<QuotedSections> {
  const words = yield* WordIndex.read(sections, ledger, quotes);
  const said = new Set<number>();
  const texts = new Set<string>();
  const quoted = new Map<Section, string[]>();
  for (const section of [...FIRST, ...ASKED_SECTIONS.filter((name) => !FIRST.includes(name))]) {
    const speakers: readonly Speaker[] = speakersOf(section);
    const places = new Map<string, [number, ...number[]]>();
    for (const sentence of sentencesOf(sections.get(section) ?? '')) {
      const found = words.findRecords(sentence, (record) => speakers.includes(quotes.speakerOf(record)));
      for (const record of found) {
        if (said.has(record)) continue;
        said.add(record);
        const place = places.get(quotes.placeOf(record));
        if (place === undefined) places.set(quotes.placeOf(record), [record]);
        else place.push(record);
      }
      yield;
    }
    const written = [...places.values()].map((records) => quotes.write(...records));
    // A short text of a user is written whole, for each of its records.
    const lines = written.filter((line) => !texts.has(line));
    for (const line of lines) texts.add(line);
    if (lines.length > 0) quoted.set(section, lines);
  }
  return quoted;
}

function speakersOf(section: Section): readonly Speaker[] {
  const asked = SECTIONS[section];
  return 'from' in asked ? asked.from : [];
}

function* sentencesOf(body: string): Generator<string> {
  for (const line of body.split('\n'))
    for (const [start, end] of splitSentences(line, 0, line.length)) yield line.slice(start, end);
}

/** Words of a text, each once, in lower case. */
function wordsOf(text: string): Set<string> {
  const words = new Set<string>();
  scanTerms(text, 0, text.length, (term) => words.add(term.toLowerCase()));
  return words;
}

interface Word {
  /** Rare words say more about which record is meant. */
  readonly weight: number;
  /** Records that hold the word. */
  readonly records: number[];
}

/** A word of more records does not say which record is meant, if the sentence has a rarer one. */
const MAX_RECORDS_OF_WORD = 1_024;

/** The records of a log by the words of an answer. */
class WordIndex {
  readonly #words = new Map<string, Word>();
  /** Word of each term of the ledger. */
  readonly #wordOf: (Word | undefined)[] = [];
  readonly #ledger: Ledger;

  private constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  static *read(sections: Sections, ledger: Ledger, quotes: LogQuotes): Sliced<WordIndex> {
    const index = new WordIndex(ledger);
    const wanted = new Set([...sections.values()].flatMap((body) => [...wordsOf(body)]));
    for (const [term, { text, messages }] of ledger.terms.entries()) {
      if (endsSlice(term)) yield;
      const folded = text.toLowerCase();
      if (!wanted.has(folded)) continue;
      const word = index.#words.get(folded) ?? { weight: index.#weigh(messages), records: [] };
      index.#words.set(folded, word);
      index.#wordOf[term] = word;
    }
    for (const record of ledger.fragments.keys()) {
      if (endsSlice(record)) yield;
      const held = index.#wordsIn(record);
      if (held.size === 0 || !quotes.mayQuote(record)) continue;
      for (const word of held) word.records.push(record);
    }
    return index;
  }

  /** Finds the record that holds most of a sentence, and records of the same message that hold more of it. */
  findRecords(sentence: string, isAllowed: (record: number) => boolean): number[] {
    const words = [...wordsOf(sentence)].map((word) => this.#words.get(word));
    const total = words.reduce((sum, word) => sum + (word?.weight ?? this.#weigh(1)), 0);
    const found: number[] = [];
    const left = new Set(words.filter((word) => word !== undefined));
    for (let least = MIN_SHARE; found.length < MAX_RECORDS; least = MIN_ADDED) {
      const best = this.#findBest(left, (record) => this.#isBeside(found[0], record) && isAllowed(record));
      if (best === undefined || best.weight < least * total) break;
      found.push(best.record);
      for (const word of this.#wordsIn(best.record)) left.delete(word);
    }
    return found.toSorted((a, b) => a - b);
  }

  /** Takes the last of several equal records, because it is the newest. */
  #findBest(words: ReadonlySet<Word>, isAllowed: (record: number) => boolean) {
    const rare = [...words].filter(({ records }) => records.length <= MAX_RECORDS_OF_WORD);
    const candidates = new Set((rare.length === 0 ? [...words] : rare).flatMap(({ records }) => records));
    let best: { readonly record: number; readonly weight: number } | undefined;
    for (const record of candidates) {
      if (!isAllowed(record)) continue;
      let weight = 0;
      for (const word of this.#wordsIn(record)) if (words.has(word)) weight += word.weight;
      const isBetter = best === undefined || weight > best.weight || (weight === best.weight && record > best.record);
      if (isBetter) best = { record, weight };
    }
    return best;
  }

  #wordsIn(record: number): Set<Word> {
    const { terms } = this.#ledger.fragments[record] as Fragment;
    return new Set(terms.flatMap((term) => this.#wordOf[term] ?? []));
  }

  #isBeside(first: number | undefined, record: number): boolean {
    const { fragments } = this.#ledger;
    return first === undefined || (fragments[first] as Fragment).message === (fragments[record] as Fragment).message;
  }

  #weigh(messages: number): number {
    return Math.log(1 + (1 + this.#ledger.messages) / Math.max(1, messages));
  }
}

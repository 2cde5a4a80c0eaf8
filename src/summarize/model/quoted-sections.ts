/**
 * A summarizing model chooses, and code writes (I24). The model copies a few words of each place that matters. This file
 * finds the records of the log that hold these words, and code writes the records with their author. So a summary states
 * nothing of its own: "the user approved the deletion" stands in no message, and is dropped.
 *
 * Road not taken: earlier versions let the model write prose, and searched it for claims of consent in twelve languages
 * and for invented names. Such lists are never complete. Quotes need no list, and hold in every language.
 *
 * Models do not copy exactly, so a line only points at its record. `WordIndex` lists the records of each word of the
 * answer, where rare words weigh more. `findRecords` takes the record with most of the line's weight, if that is at least
 * half, and drops the line otherwise. `PlacedRecords` quotes each record once, so the sections that protect the user are
 * filled first. `log-quotes.ts` decides who said a record, and writes it.
 */

import type { Fragment, Ledger } from '../../compaction/evidence/ledger.ts';
import { splitSentences } from '../../compaction/evidence/sentences.ts';
import { scanTerms } from '../../compaction/evidence/terms.ts';
import { endsSlice, type Interruptible } from '../../domain/interruptible.ts';
import type { LogQuotes, Speaker } from './log-quotes.ts';
import { ASKED_SECTIONS, SECTIONS, type Section, type Sections } from './sections.ts';

export type QuotedSections = ReadonlyMap<Section, readonly string[]>;

/** A record is quoted for a sentence if it has at least this share of the sentence's weight. */
const MIN_SHARE = 0.5;
/** A record that the section may hold is preferred to the best record from this share of the best weight on. */
const NEAR_SHARE = 0.8;
/** A further record of the same message is quoted if it adds at least this share of the sentence's weight. */
const MIN_ADDED = 0.25;
const MAX_RECORDS = 3;
/** Maximum records in a line. A longer line may not fit into its section. */
const MAX_TOGETHER = 4;
/** Sections that are filled first, because each record is quoted only once. */
const FIRST: readonly Section[] = ['constraints', 'requests', 'goal'];
/** Section for the agent's words if the section of the model's choice may not hold words of the agent. */
const OTHERS: Section = 'facts';

export function* quoteSections(sections: Sections, ledger: Ledger, quotes: LogQuotes): Interruptible<QuotedSections> {
  const words = yield* WordIndex.read(sections, ledger, quotes);
  const placed = new PlacedRecords(quotes);
  for (const section of [...FIRST, ...ASKED_SECTIONS.filter((name) => !FIRST.includes(name))]) {
    const speakers = speakersOf(section);
    for (const sentence of sentencesOf(sections.get(section) ?? '')) {
      const found = words.findRecords(sentence, (record) => speakers.includes(quotes.speakerOf(record)));
      for (const record of found) {
        const target = sectionFor(section, quotes.speakerOf(record));
        if (target === undefined || (target !== 'constraints' && quotes.isShown(record))) continue;
        placed.add(target, record);
      }
      yield;
    }
  }
  return placed.write();
}

class PlacedRecords {
  readonly #quotes: LogQuotes;
  readonly #said = new Set<number>();
  readonly #lines = new Map<Section, [number, ...number[]][]>();

  constructor(quotes: LogQuotes) {
    this.#quotes = quotes;
  }

  add(section: Section, record: number): void {
    if (this.#said.has(record)) return;
    this.#said.add(record);
    const lines = this.#lines.get(section) ?? [];
    this.#lines.set(section, lines);
    const place = this.#quotes.placeOf(record);
    const open = lines.findLast(([first]) => this.#quotes.placeOf(first) === place);
    if (open === undefined || open.length === MAX_TOGETHER) lines.push([record]);
    else open.push(record);
  }

  write(): QuotedSections {
    const lines = new Set<string>();
    const quoted = new Map<Section, string[]>();
    for (const [section, together] of this.#lines) {
      const written = together.map((records) => this.#quotes.write(...records));
      // A short user text is written whole for each of its records, so equal lines are written once.
      const own = written.filter((line) => !lines.has(line));
      for (const line of own) lines.add(line);
      if (own.length > 0) quoted.set(section, own);
    }
    return quoted;
  }
}

/** Section that may hold the record. A tool's words under the heading of a rule or a step are dropped. */
function sectionFor(section: Section, speaker: Speaker): Section | undefined {
  if (speakersOf(section).includes(speaker)) return section;
  return speaker === 'result' ? undefined : OTHERS;
}

function speakersOf(section: Section): readonly Speaker[] {
  const asked = SECTIONS[section];
  return 'from' in asked ? asked.from : [];
}

function* sentencesOf(body: string): Generator<string> {
  for (const line of body.split('\n'))
    for (const [start, end] of splitSentences(line, 0, line.length)) yield line.slice(start, end);
}

function wordsOf(text: string): Set<string> {
  const words = new Set<string>();
  scanTerms(text, 0, text.length, (term) => words.add(term.toLowerCase()));
  return words;
}

interface Word {
  readonly weight: number;
  readonly records: number[];
}

/** If a word is in more records than this, it is ignored, unless the sentence has no rarer word. */
const MAX_RECORDS_OF_WORD = 1_024;

class WordIndex {
  readonly #words = new Map<string, Word>();
  readonly #wordOf: (Word | undefined)[] = [];
  readonly #ledger: Ledger;

  private constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  static *read(sections: Sections, ledger: Ledger, quotes: LogQuotes): Interruptible<WordIndex> {
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

  /**
   * Finds the record that holds most of a sentence, and further records of the same message that hold more of it.
   * @param isAllowed records that are preferred to records with a little more weight
   */
  findRecords(sentence: string, isAllowed: (record: number) => boolean): number[] {
    const words = [...wordsOf(sentence)].map((word) => this.#words.get(word));
    const total = words.reduce((sum, word) => sum + (word?.weight ?? this.#weigh(1)), 0);
    const left = new Set(words.filter((word) => word !== undefined));
    const [any, allowed] = [this.#findBest(left, () => true), this.#findBest(left, isAllowed)];
    const first = any !== undefined && (allowed?.weight ?? 0) >= NEAR_SHARE * any.weight ? allowed : any;
    if (first === undefined || first.weight < MIN_SHARE * total) return [];
    const found = [first.record];
    for (;;) {
      for (const word of this.#wordsIn(found.at(-1) as number)) left.delete(word);
      const next = this.#findBest(left, (record) => this.#isBeside(first.record, record));
      if (next === undefined || next.weight < MIN_ADDED * total || found.length === MAX_RECORDS) break;
      found.push(next.record);
    }
    return found.toSorted((a, b) => a - b);
  }

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

  #isBeside(first: number, record: number): boolean {
    const { fragments } = this.#ledger;
    return (fragments[first] as Fragment).message === (fragments[record] as Fragment).message;
  }

  #weigh(messages: number): number {
    return Math.log(1 + (1 + this.#ledger.messages) / Math.max(1, messages));
  }
}

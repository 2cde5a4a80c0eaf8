import type { DecodedString } from './decoded-string.ts';
import { isShortLine, splitSentences } from './sentences.ts';
import { readTerminal } from './terminal-text.ts';

export interface Field {
  readonly at: number;
  readonly of: 'object' | 'list';
  readonly size: number;
}

/**
 * Unit of text that is kept or left out as a whole. Its owner says what the record belongs to, and is shown with it.
 */
export interface TextRecord {
  readonly start: number;
  readonly end: number;
  /** Text of the record, decoded if the record stands in a JSON string. */
  readonly text: string;
  readonly index: number;
  /** Record that names what this record belongs to: an object's id, a table's header, a paragraph's first sentence. */
  readonly owner: TextRecord | undefined;
  /** Number of the record's line. Records with the same number share a line. */
  readonly line: number;
  readonly depth: number;
  readonly field?: Field | undefined;
  readonly isKey?: boolean | undefined;
}

export const WHOLE_CHARS = 240;

/** Number of first characters within which a sentence names its subject. */
const SUBJECT_CHARS = 48;

/**
 * Start of a sentence that names its subject: `Invoice INV-` of `Invoice INV-8700 is paid`. Each sentence with this
 * start begins another subject, and owns the sentences that follow.
 */
function subjectOf(sentence: string): string | undefined {
  const start = sentence.slice(0, SUBJECT_CHARS).trimStart();
  const before = start.slice(0, Math.max(0, start.search(/\p{N}/u)));
  return /\p{L}[_-]$|\s\p{L}+$/u.test(before) ? before : undefined;
}

function findSubject(text: string, subject: string | undefined, from: number): number {
  if (subject === undefined) return -1;
  let at = text.indexOf(subject, from);
  while (at > 0 && !/[.!?。！？]["'”’)\]]?\s*$/.test(text.slice(Math.max(0, at - 4), at)))
    at = text.indexOf(subject, at + 1);
  return at;
}

/** Text that says nothing: punctuation, or the number of a blank line of a file. */
const EMPTY = /^[\s!-/:-@[-`{-~]*$|^\s{0,8}\d{1,7}[\t→:|-]\s*$/;

interface RecordDraft extends Pick<TextRecord, 'start' | 'end' | 'owner' | 'depth' | 'line' | 'field' | 'isKey'> {
  readonly text?: string;
}

export interface OuterText {
  readonly reader: RecordReader;
  readonly decoded?: DecodedString;
  readonly owner: TextRecord | undefined;
  readonly depth: number;
}

/** A text with the records found so far. A text in a JSON string adds its records to those of the outer text. */
export class RecordReader {
  readonly text: string;
  /** Record that owns the whole text. */
  readonly owner: TextRecord | undefined;
  readonly depth: number;
  readonly #found: { records: TextRecord[]; count: number; lines: number; last?: TextRecord };
  readonly #placeOf: (at: number) => number;

  constructor(text: string, outer?: OuterText) {
    this.text = text;
    this.owner = outer?.owner;
    this.depth = outer?.depth ?? 0;
    this.#found = outer === undefined ? { records: [], count: 0, lines: 0 } : outer.reader.#found;
    this.#placeOf = (at) => {
      if (outer === undefined) return at;
      return outer.reader.#placeOf(outer.decoded === undefined ? at : (outer.decoded.places[at] as number));
    };
  }

  /** Reads the text as a terminal shows it. Places stay those of the outer text. */
  asShown(): RecordReader {
    const decoded = readTerminal(this.text);
    if (decoded === undefined) return this;
    return new RecordReader(decoded.text, { reader: this, decoded, owner: this.owner, depth: this.depth });
  }

  get last(): TextRecord | undefined {
    return this.#found.last;
  }

  nextLine(): number {
    return (this.#found.lines += 1);
  }

  /** Adds a record. A text that says nothing, such as `},`, is dropped. */
  add(draft: RecordDraft): TextRecord | undefined {
    const record = this.prepare(draft);
    if (EMPTY.test(record.text)) return undefined;
    this.settle(record);
    return record;
  }

  /**
   * Adds a line as one record, or a long line as sentences that belong to its first sentence.
   * @returns the first record
   */
  addLines(
    { start, end }: { readonly start: number; readonly end: number },
    { owner, depth }: Pick<TextRecord, 'owner' | 'depth'>,
    most = WHOLE_CHARS,
  ): TextRecord | undefined {
    const line = this.nextLine();
    if (isShortLine(this.text, { start, end }, most)) return this.add({ start, end, owner, depth, line });
    let first: TextRecord | undefined;
    let subject: TextRecord | undefined;
    for (const [from, to] of this.#splitAtSubjects(start, end)) {
      const named = subjectOf(this.text.slice(from, to));
      const isSubject = named !== undefined && first !== undefined && named === subjectOf(first.text);
      const record = this.add({ start: from, end: to, owner: isSubject ? owner : (subject ?? owner), depth, line });
      first ??= record;
      if (isSubject || subject === undefined) subject = record ?? subject;
    }
    return first;
  }

  /** Splits a text into sentences, and also before each sentence that names another subject. */
  *#splitAtSubjects(start: number, end: number): Generator<readonly [number, number]> {
    let subject: string | undefined;
    for (const [from, to] of splitSentences(this.text, start, end)) {
      const text = this.text.slice(from, to);
      subject ??= from === start ? subjectOf(text) : undefined;
      let at = 0;
      for (let next = findSubject(text, subject, 1); next > 0; next = findSubject(text, subject, next + 1)) {
        yield [from + at, from + next];
        at = next;
      }
      yield [from + at, to];
    }
  }

  /** Prepares a record that other records may name as their owner before `settle` adds it. */
  prepare(draft: RecordDraft): TextRecord {
    const text = draft.text ?? this.text.slice(draft.start, draft.end);
    return { ...draft, text, index: -1, start: this.#placeOf(draft.start), end: this.#placeOf(draft.end) };
  }

  settle(record: { -readonly [Key in keyof TextRecord]: TextRecord[Key] }): void {
    record.index = this.#found.count;
    this.#found.count += 1;
    this.#found.records.push(record);
    this.#found.last = record;
  }

  take(): TextRecord[] {
    const { records } = this.#found;
    this.#found.records = [];
    return records;
  }
}

import {
  type BlockKind,
  decideKind,
  FORM_LINES,
  findRecordForm,
  isHeading,
  isListItem,
  isName,
  type Line,
  PairOwners,
  type RecordForm,
  shapeOfLine,
} from './blocks.ts';
import type { PartText } from './fragments.ts';
import { scanJson } from './json-nodes.ts';
import { readJsonRecords } from './json-records.ts';
import { type OuterText, RecordReader, type TextRecord, WHOLE_CHARS } from './records.ts';
import { readSummaryLines } from './summary-records.ts';

export function* readRecords({ part, text, isMarked = false }: PartText): Generator<TextRecord> {
  const whole = new RecordReader(text);
  // A user's text is quoted as it is.
  const reader = part === 'user' || isMarked ? whole : whole.asShown();
  const work = isMarked ? readSummaryLines(reader) : part === 'call' ? readCall(reader) : new TextReader(reader).read();
  for (const _ of work) yield* reader.take();
  yield* reader.take();
}

/** Reads the records of a call. The first line names the tool and its target, and owns the lines of its values. */
function* readCall(reader: RecordReader): Generator<void> {
  const { text } = reader;
  const found = text.indexOf('\n');
  const end = found === -1 ? text.length : found;
  const head = reader.addLines({ start: 0, end }, { owner: undefined, depth: 0 });
  const rest = new RecordReader(text, { reader, owner: head, depth: 0 });
  yield* new TextReader(rest, { start: end + 1 }).read();
}

const CHUNK_LINES = 48;
const MAX_ROW_CHARS = 1_000;
const MAX_LEVELS = 3;
/** End of a line that a list may follow, even after a blank line. */
const LIST_LEAD = /[:：]\s*$/;
const CODE = /[(){}[\]=<>;"`]/;

function announces(text: string): boolean {
  return text.length <= WHOLE_CHARS && LIST_LEAD.test(text) && /\S\s+\S/.test(text) && !CODE.test(text);
}

const JSON_START = /^\s*[[{]/;

interface Placed {
  readonly owner: TextRecord | undefined;
  readonly depth: number;
}

/**
 * Finds the records of a text and their owners. A record is kept or left out as a whole.
 *
 * Tools print many formats, so the reader judges a chunk of lines at a time. JSON comes first, as it can begin on any
 * line: `json-records` reads the JSON, and this class reads the texts in its strings. Headings come next. All else is a
 * block (`blocks`): rows, pairs, prose, a list or a listing. If the text repeats a form of records, that form overrules
 * the kind of the block.
 *
 * A chunk bounds the work between two yields, so a block may continue in the next chunk (`#continues`). Places are
 * those of the outer text, so that an excerpt can be cut from the log again.
 */
class TextReader {
  readonly #reader: RecordReader;
  readonly #text: string;
  readonly #level: number;
  #at: number;
  #noJsonBefore = 0;
  #markupEnd = 0;
  #heading: TextRecord | undefined;
  #isAfterBlank = false;
  /** Line or sentence before a list. It may say that the items of the list are forbidden. */
  #listLead: TextRecord | undefined;
  #announces = false;
  #continues: BlockKind | undefined;
  #header: TextRecord | undefined;
  #pairs = new PairOwners();
  readonly #form: RecordForm | undefined;
  /** Record that is being read. Its `line` is the line with its name, or its first line until a name is found. */
  #record: { readonly line: TextRecord | undefined; readonly isNamed: boolean } | undefined;

  constructor(reader: RecordReader, { start = 0, level = 0 } = {}) {
    this.#reader = reader;
    this.#text = reader.text;
    this.#at = start;
    this.#level = level;
    this.#form = findRecordForm([...this.#firstLines()]);
  }

  *#firstLines(): Generator<Line> {
    for (let at = this.#at, count = 0; at < this.#text.length && count < FORM_LINES; ) {
      const line = this.#lineAt(at);
      at = line.next;
      if (line.text.trim() === '') continue;
      count += 1;
      yield line;
    }
  }

  *read(): Generator<void> {
    while (this.#at < this.#text.length) {
      const line = this.#lineAt(this.#at);
      if (line.text.trim() === '') {
        this.#at = line.next;
        this.#continues = undefined;
        this.#isAfterBlank = true;
        // A list may begin after a blank line. The next blank line ends the list.
        const isLead = this.#reader.last === this.#listLead && LIST_LEAD.test(this.#listLead?.text ?? '');
        if (!isLead) [this.#listLead, this.#announces] = [undefined, false];
        continue;
      }
      if (!this.#readJson(line) && !this.#readHeading(line)) this.#readChunk(line);
      yield;
    }
  }

  get #placed(): Placed {
    const { owner, depth } = this.#reader;
    return this.#heading === undefined ? { owner, depth } : { owner: this.#heading, depth: depth + 1 };
  }

  /** Reads a line. A long line of markup is split into a line for each element. */
  #lineAt(start: number): Line {
    const found = this.#text.indexOf('\n', start);
    const end = found === -1 ? this.#text.length : found;
    if (end - start > WHOLE_CHARS && isMarkup(this.#text.slice(start, start + WHOLE_CHARS))) this.#markupEnd = end;
    const next = start < this.#markupEnd ? this.#text.indexOf('><', start) + 1 : 0;
    if (next > 0 && next < end) return { start, end: next, next, text: this.#text.slice(start, next) };
    return { start, end, next: end + 1, text: this.#text.slice(start, end) };
  }

  #readHeading(line: Line): boolean {
    if (!isHeading(line, this.#lineAt(line.next))) return false;
    this.#heading = this.#reader.addLines(line, { owner: this.#reader.owner, depth: this.#reader.depth });
    this.#at = line.next;
    this.#continues = undefined;
    return true;
  }

  /** Reads JSON that begins at the start of a line and ends at the end of a line. */
  #readJson({ start, text }: Line): boolean {
    return JSON_START.test(text) && this.#readJsonAt(start + text.search(/\S/), () => this.#placed);
  }

  #readJsonAt(start: number, place: () => Placed): boolean {
    if (start < this.#noJsonBefore) return false;
    const scan = scanJson(this.#text, start);
    if (scan.status === 'failed') {
      this.#noJsonBefore = scan.failedAt;
      return false;
    }
    const rest = this.#lineAt(scan.root.end);
    if (scan.root.children.length === 0 || rest.text.trim() !== '') return false;
    readJsonRecords(this.#reader, scan.root, { place: place(), readText: (outer) => this.#readInner(outer) });
    this.#at = rest.next;
    this.#continues = undefined;
    return true;
  }

  #readInner(outer: OuterText): void {
    const reader = new RecordReader(outer.decoded?.text ?? '', outer).asShown();
    const { text, owner, depth } = reader;
    if (this.#level === MAX_LEVELS) reader.add({ start: 0, end: text.length, owner, depth, line: reader.nextLine() });
    else for (const _ of new TextReader(reader, { level: this.#level + 1 }).read());
  }

  #readChunk(first: Line): void {
    const lines = [first];
    let next = this.#lineAt(first.next);
    while (lines.length < CHUNK_LINES && next.text.trim() !== '' && !JSON_START.test(next.text)) {
      lines.push(next);
      next = this.#lineAt(next.next);
    }
    this.#at = next.start;
    const kind = this.#decideKind(lines);
    if (this.#continues === undefined) {
      this.#header = undefined;
      this.#pairs = new PairOwners();
    }
    this.#continues = next.text.trim() === '' || kind === 'records' ? undefined : kind;
    if (kind === 'records') for (const line of lines) this.#addToRecord(line);
    else if (kind === 'prose') {
      this.#reader.addLines({ start: first.start, end: (lines.at(-1) as Line).end }, this.#placed);
      this.#listLead = this.#reader.last;
    } else for (const line of lines) this.#addLine(line, kind);
  }

  #decideKind(lines: readonly Line[]): BlockKind | 'records' {
    const kind = this.#continues ?? decideKind(lines);
    if (this.#form === undefined || kind === 'rows') return kind;
    return kind !== 'pairs' || this.#form.isNamedLater ? 'records' : kind;
  }

  /** Continues or begins a record. After a blank line, a line of an unknown shape ends the record. */
  #addToRecord(line: Line): void {
    const { owner, depth } = this.#placed;
    const isAfterBlank = this.#isAfterBlank;
    this.#isAfterBlank = false;
    const form = this.#form as RecordForm;
    const shape = shapeOfLine(line.text);
    if (shape === form.head) {
      const head = this.#reader.addLines(line, { owner, depth });
      this.#record = { line: head, isNamed: !form.isNamedLater };
      return;
    }
    if (isAfterBlank && !form.shapes.has(shape)) this.#record = undefined;
    if (this.#record === undefined) {
      this.#reader.addLines(line, { owner, depth });
      return;
    }
    const { line: head, isNamed } = this.#record;
    const added = this.#reader.addLines(line, { owner: head ?? owner, depth: depth + 1 });
    if (!isNamed && added !== undefined && (head === undefined || isName(line.text)))
      this.#record = { line: added, isNamed: true };
  }

  #addLine(line: Line, kind: BlockKind): void {
    const { owner, depth } = this.#placed;
    switch (kind) {
      case 'rows': {
        const header = this.#header;
        const placed = header === undefined ? { owner, depth } : { owner: header, depth: depth + 1 };
        const row = this.#reader.addLines(line, placed, MAX_ROW_CHARS);
        this.#header ??= row;
        break;
      }
      case 'pairs':
        this.#addPair(line);
        break;
      default:
        if (!this.#readTail(line)) this.#addText(line, kind === 'text' ? { owner, depth } : this.#reader);
    }
  }

  /**
   * A list item belongs to the line before the list. A line below words such as `None of this:` also belongs to them.
   */
  #addText(line: Line, placed: Placed): void {
    const lead = isListItem(line.text) || this.#announces ? this.#listLead : undefined;
    this.#reader.addLines(line, lead === undefined ? placed : { owner: lead, depth: lead.depth + 1 });
    if (lead !== undefined || isListItem(line.text)) return;
    this.#listLead = this.#reader.last;
    this.#announces = announces(line.text);
  }

  #addPair(line: Line): void {
    const { owner, depth } = this.#placed;
    const isHead = this.#form?.head === shapeOfLine(line.text);
    // Only records without indentation start new pairs: in an indented list, the indentation shows the records.
    if (isHead && !/^\s/.test(line.text)) this.#pairs = new PairOwners();
    const around = isHead ? undefined : this.#record?.line;
    this.#pairs.place(line.text, (pair, levels) => {
      const added = this.#reader.addLines(line, { owner: pair ?? around ?? owner, depth: depth + levels });
      if (isHead) this.#record = { line: added, isNamed: true };
      return added;
    });
  }

  /** Reads a long line that ends with JSON: `ERROR {"id": …}`. */
  #readTail({ start, end, text }: Line): boolean {
    const at = text.search(/[[{]/);
    if (at < 1 || (end - start <= WHOLE_CHARS && !text.includes('\\'))) return false;
    const next = this.#at;
    const isRead = this.#readJsonAt(start + at, () => {
      const { owner, depth } = this.#placed;
      return { owner: this.#reader.addLines({ start, end: start + at }, { owner, depth }) ?? owner, depth };
    });
    if (isRead) this.#at = Math.max(next, this.#at);
    return isRead;
  }
}

function isMarkup(line: string): boolean {
  return line.trimStart().startsWith('<') && line.split('><').length > 2;
}

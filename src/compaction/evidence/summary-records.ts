import { isName } from './blocks.ts';
import type { PartKind } from './fragments.ts';
import type { RecordReader, TextRecord } from './records.ts';

/** Marks at the start of lines in a structural summary. A line without a mark continues the line before it. */
export const SPEAKER_MARKS: Readonly<Record<PartKind, string>> = {
  user: 'user: ',
  statement: 'agent: ',
  call: '→ ',
  result: '← ',
};
const GAP_BEFORE = /^… /;
const GAP_BEHIND = / ?…$/;
export const MARK = /^(?:(?:user|system|agent)(?: \d+)?: |→ |← |changed: |tests: |todo: )/;

export function markSpeaker(speaker: 'user' | 'system' | 'agent', seq: number): string {
  return `${speaker} ${seq}: `;
}

const LINES_A_CHUNK = 64;

interface OpenLine {
  readonly indent: number;
  readonly record: TextRecord;
  /** First line under a repeated line, such as `BEGIN:VEVENT`. It names the lines that follow. */
  name?: TextRecord | undefined;
}

/**
 * Reads the lines of a structural summary. A result belongs to the call above it. A line without a mark belongs to the
 * nearest line above with a mark or less indentation. If that line is repeated elsewhere, the first line under it owns
 * the others. If only its number differs, as in `2. row`, the first line under it that has a name owns the others.
 */
export function* readSummaryLines(reader: RecordReader): Generator<void> {
  const { text } = reader;
  const owners = new LineOwners(findRepeated(text));
  for (let start = 0, count = 1; start < text.length; count += 1) {
    const found = text.indexOf('\n', start);
    const end = found === -1 ? text.length : found;
    owners.place(text.slice(start, end), (owner) =>
      reader.add({ start, end, owner, depth: 0, line: reader.nextLine() }),
    );
    start = end + 1;
    if (count % LINES_A_CHUNK === 0) yield;
  }
}

class LineOwners {
  readonly #repeated: Repeated;
  #call: TextRecord | undefined;
  #open: OpenLine[] = [];

  constructor(repeated: Repeated) {
    this.#repeated = repeated;
  }

  place(line: string, add: (owner: TextRecord | undefined) => TextRecord | undefined): void {
    const mark = MARK.exec(line)?.[0];
    const indent = mark === undefined ? line.search(/\S/) : -1;
    this.#open = mark === undefined ? closeLines(this.#open, indent) : [];
    const above = this.#open.at(-1);
    const record = add(mark === SPEAKER_MARKS.result ? this.#call : ownerUnder(above));
    if (above !== undefined && this.#isNamedBelow(above.record.text, line)) above.name ??= record;
    this.#openLine(mark, { indent, record });
  }

  #isNamedBelow(above: string, line: string): boolean {
    const { texts, forms } = this.#repeated;
    return texts.has(bare(above)) || (isName(line) && !isName(above) && forms.has(formOf(above)));
  }

  #openLine(
    mark: string | undefined,
    { indent, record }: Omit<OpenLine, 'record'> & { record: TextRecord | undefined },
  ): void {
    if (mark !== undefined && mark !== SPEAKER_MARKS.result)
      this.#call = mark === SPEAKER_MARKS.call ? record : undefined;
    if (record !== undefined && (mark !== undefined || this.#open.length > 0)) this.#open.push({ indent, record });
  }
}

function closeLines(open: OpenLine[], indent: number): OpenLine[] {
  const last = open.findLastIndex((line, at) => at === 0 || line.indent < indent);
  return open.slice(0, last + 1);
}

function ownerUnder(line: OpenLine | undefined): TextRecord | undefined {
  return line?.name ?? line?.record;
}

interface Repeated {
  readonly texts: ReadonlySet<string>;
  /** Lines that occur more than once if numbers are ignored, stored without their numbers. */
  readonly forms: ReadonlySet<string>;
}

/** Finds lines that occur more than once, because a repeated line cannot name anything. */
function findRepeated(text: string): Repeated {
  const lines = text.split('\n');
  return { texts: repeatedOf(lines.map(bare)), forms: repeatedOf(lines.map(formOf)) };
}

function repeatedOf(texts: readonly string[]): ReadonlySet<string> {
  const [once, repeated] = [new Set<string>(), new Set<string>()];
  for (const text of texts) (once.has(text) ? repeated : once).add(text);
  return repeated;
}

function formOf(line: string): string {
  return bare(line).replaceAll(/\p{N}+/gu, '0');
}

function bare(line: string): string {
  return withoutMark(line.trim());
}

/** Leaves out the mark of the author, and the marks of gaps before and behind the line. */
export function withoutMark(line: string): string {
  return line.replace(MARK, '').replace(GAP_BEFORE, '').replace(GAP_BEHIND, '');
}

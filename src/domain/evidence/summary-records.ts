import type { Part } from './fragments.ts';
import type { RecordReader, TextRecord } from './records.ts';

/** Signs at the start of a line of a structural summary that say who speaks. Lines without a sign continue the line before. */
export const MARKS: Readonly<Record<Part, string>> = { user: 'user: ', statement: 'agent: ', call: '→ ', result: '← ' };
export const MARK = /^(?:user: |agent: |→ |← )/;

const LINES_A_CHUNK = 64;

interface OpenLine {
  readonly indent: number;
  readonly record: TextRecord;
}

/**
 * Finds the records of a structural summary: its lines. A result belongs to the call above it. A line without a mark belongs
 * to the next line above it that has a mark or less indentation.
 */
export function* readSummaryLines(reader: RecordReader): Generator<void> {
  const { text } = reader;
  let call: TextRecord | undefined;
  let open: OpenLine[] = [];
  for (let start = 0, count = 1; start < text.length; count += 1) {
    const found = text.indexOf('\n', start);
    const end = found === -1 ? text.length : found;
    const line = text.slice(start, end);
    const isMarked = MARK.test(line);
    const isResult = line.startsWith(MARKS.result);
    const indent = isMarked ? -1 : line.search(/\S/);
    if (isMarked) open = [];
    while (open.length > 1 && (open.at(-1) as OpenLine).indent >= indent) open.pop();
    const owner = isResult ? call : open.at(-1)?.record;
    const record = reader.add({ start, end, owner, depth: 0, line: reader.nextLine() });
    if (isMarked && !isResult) call = line.startsWith(MARKS.call) ? record : undefined;
    if (record !== undefined && (isMarked || open.length > 0)) open.push({ indent, record });
    start = end + 1;
    if (count % LINES_A_CHUNK === 0) yield;
  }
}

import type { PartText } from './fragments.ts';
import { RecordReader, type TextRecord } from './records.ts';
import { readSummaryLines } from './summary-records.ts';
import { TextReader } from './text-records.ts';

export function* readRecords({ part, text, isMarked = false }: PartText): Generator<TextRecord> {
  const reader = new RecordReader(text);
  const work = isMarked ? readSummaryLines(reader) : part === 'call' ? readCall(reader) : new TextReader(reader).read();
  for (const _ of work) yield* reader.take();
  yield* reader.take();
}

/** The first line of a call names its tool and its target. Further lines are values, which belong to it. */
function* readCall(reader: RecordReader): Generator<void> {
  const { text } = reader;
  const found = text.indexOf('\n');
  const end = found === -1 ? text.length : found;
  const head = reader.addLines({ start: 0, end }, { owner: undefined, depth: 0 });
  const rest = new RecordReader(text, { reader, owner: head, depth: 0 });
  yield* new TextReader(rest, { start: end + 1 }).read();
}

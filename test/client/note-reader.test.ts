import { expect, test } from 'vitest';
import { NoteReader } from '../../src/api/client/note-reader.ts';
import type { LogEntry } from '../../src/domain/message.ts';
import type { CallNote, NoteBatch, StreamEntry } from '../../src/store/stream-entries.ts';

const progress = (text: string): CallNote => ({ call: 'c2_0', progress: { text } });
const value = (data: unknown, key?: string): CallNote => ({
  call: 'c2_0',
  data: { name: 'chart', ...(key !== undefined && { key }), data },
});
const result: LogEntry = {
  seq: 3,
  message: { role: 'tool', content: 'done', toolCallId: 'c2_0' },
  tokens: 1,
  bytes: 1,
  total: { tokens: 1, bytes: 1 },
  at: 1,
};

/** Reads one page whose entries hold a note each. */
function read(reader: NoteReader, notes: readonly CallNote[], log: readonly LogEntry[] = []): unknown[] {
  const batches = notes.map((note): NoteBatch => ({ step: 1, calls: 1, notes: [note] }));
  reader.beginPage(
    batches.map((noted, at): StreamEntry => ({ id: `${at}-1`, noted })),
    log,
  );
  const parts = batches.flatMap((batch) => batch.notes.flatMap((note) => reader.take(note, batch)));
  return parts.map((part) => (part.type === 'progress' ? part.text : [part.key ?? '', part.data]));
}

test('a page gives the last progress and the last value of each name and key', () => {
  expect(read(new NoteReader(0), [progress('a'), value(1), value(2, 'k'), progress('b'), value(3)])).toEqual([
    ['k', 2],
    'b',
    ['', 3],
  ]);
});

test('a value that the reader has is not given again, also not with the result of the call', () => {
  const reader = new NoteReader(0);
  expect(read(reader, [value(1)])).toEqual([['', 1]]);
  expect(read(reader, [value(1)])).toEqual([]);
  expect(reader.takeResult('c2_0', [{ name: 'chart', data: 1 }], 1)).toEqual([]);
  expect(reader.takeResult('c2_0', [{ name: 'chart', data: 2 }], 1)).toHaveLength(1);
});

test('notes of a call are skipped once the reader has its result, or resumed behind it', () => {
  const reader = new NoteReader(0);
  expect(read(reader, [progress('a'), value(1)], [result])).toEqual([]);
  expect(read(reader, [progress('late')])).toEqual([]);
  expect(read(new NoteReader(3), [progress('a'), value(1)])).toEqual([]);
  expect(read(new NoteReader(2), [progress('a')])).toEqual(['a']);
});

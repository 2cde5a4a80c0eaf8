import { describe, expect, test } from 'vitest';
import { PartAssembler } from '../../src/api/client/part-assembler.ts';
import { positionSchema } from '../../src/api/client/stream-position.ts';
import type { TurnPart } from '../../src/api/contract/turn-parts.ts';
import { type LogEntry, MAX_REASONING_CHARACTERS, type Message } from '../../src/domain/message.ts';
import type { StreamEntry, StreamPiece } from '../../src/store/stream-entries.ts';
import type { StreamPage } from '../../src/store/streams.ts';

type Body = TurnPart extends infer Part ? (Part extends TurnPart ? Omit<Part, 'id'> : never) : never;

const text = (value: string, at = 0): StreamPiece => ({ kind: 'text', at, text: value });

/** Pieces of the message with the number `seq`. The user message has the number 1. */
function batch(
  id: number,
  pieces: readonly StreamPiece[],
  changes: { seq?: number; epoch?: number; attempt?: number } = {},
) {
  return { id: `${id}-0`, batch: { seq: 2, step: 1, epoch: 1, attempt: 1, ...changes, pieces } } as const;
}

function entry(seq: number, message: Message): LogEntry {
  const total = { tokens: 1, bytes: 1 };
  return { seq, message, tokens: 1, bytes: 1, total, at: 1, turn: 't1' };
}

const says = (seq: number, content: string, calls: readonly string[] = []): LogEntry => {
  const toolCalls = calls.map((written, index) => ({ id: `c${seq}_${index}`, name: 'look', arguments: written }));
  return entry(seq, { role: 'assistant', content, ...(calls.length > 0 && { toolCalls }) });
};
const result = (seq: number, call: string, content: string): LogEntry =>
  entry(seq, { role: 'tool', content, toolCallId: call });

function page(entries: readonly StreamEntry[], log: readonly LogEntry[] = [], changes: Partial<StreamPage> = {}) {
  return {
    state: 'running',
    head: log.at(-1)?.seq ?? 1,
    start: 1,
    log,
    entries,
    position: entries.at(-1)?.id ?? '0-0',
    hasMoreLog: false,
    hasMoreEntries: false,
    ...changes,
  } satisfies StreamPage;
}

const withoutIds = (parts: readonly TurnPart[]): Body[] => parts.map(({ id: _, ...part }) => part);

/** Reads pages one after the other, without ids. */
function read(...pages: readonly StreamPage[]): Body[] {
  const assembler = new PartAssembler();
  return withoutIds(pages.flatMap((each) => [...assembler.read(each).parts]));
}

/** Reads a page, as a reader that resumes from the last part of earlier pages. */
function resume(before: readonly StreamPage[], next: StreamPage): Body[] {
  const assembler = new PartAssembler();
  for (const each of before) assembler.read(each);
  return withoutIds(new PartAssembler(positionSchema.parse(assembler.id)).read(next).parts);
}

const piece = (value: string, step = 1): Body => ({ type: 'text', step, piece: value });
const restart = (step = 1): Body => ({ type: 'restart', step });

describe('parts of a message that a model is writing', () => {
  test('a reader gets the pieces of a page as one piece of text, and the next page continues the text', () => {
    const pages = [page([batch(1, [text('It ')]), batch(2, [text('is ', 3)])]), page([batch(3, [text('blue.', 6)])])];
    expect(read(...pages)).toEqual([piece('It is '), piece('blue.')]);
  });

  test('a reader gets a piece of text only once if a worker wrote it twice after a lost reply', () => {
    expect(read(page([batch(1, [text('It ')]), batch(2, [text('It ')]), batch(3, [text('is', 3)])]))).toEqual([
      piece('It is'),
    ]);
  });

  test('a reader gets reasoning, text, and tool calls with their growing arguments', () => {
    const first = batch(1, [{ kind: 'reasoning', at: 0, text: 'hm' }, text('Let me see.')]);
    const call = batch(2, [
      { kind: 'call', call: 0, name: 'look' },
      { kind: 'arguments', call: 0, at: 0, text: '{"a":' },
    ]);
    const rest = batch(3, [
      { kind: 'arguments', call: 0, at: 5, text: '1}' },
      { kind: 'call', call: 1, name: 'find' },
    ]);
    expect(read(page([first]), page([call]), page([rest]))).toEqual([
      { type: 'reasoning', step: 1, piece: 'hm' },
      piece('Let me see.'),
      { type: 'tool-call-start', step: 1, call: 'c2_0', name: 'look' },
      { type: 'tool-call-arguments', step: 1, call: 'c2_0', piece: '{"a":' },
      { type: 'tool-call-arguments', step: 1, call: 'c2_0', piece: '1}' },
      { type: 'tool-call-start', step: 1, call: 'c2_1', name: 'find' },
    ]);
  });

  test('a reader gets no text after a missing piece until the step is recorded', () => {
    const pages = [page([batch(1, [text('It ')]), batch(3, [text('blue.', 6)])]), page([], [says(2, 'It is blue.')])];
    expect(read(...pages)).toEqual([piece('It '), piece('is blue.')]);
  });

  test('the pieces of a later owner, or of the next model of a chain, withdraw the text of the earlier call', () => {
    for (const later of [
      { epoch: 2, attempt: 1 },
      { epoch: 1, attempt: 2 },
    ]) {
      const pages = [page([batch(1, [text('It is bl')])]), page([batch(2, [text('It is red')], later)])];
      expect(read(...pages)).toEqual([piece('It is bl'), restart(), piece('It is red')]);
      expect(read(page(pages.flatMap(({ entries }) => entries))), 'a late reader').toEqual([piece('It is red')]);
    }
  });

  test('a reader drops late pieces of an earlier owner of the turn', () => {
    const pages = [
      page([batch(1, [text('It is red')], { epoch: 2 })]),
      page([batch(2, [text(' bl', 9)], { epoch: 1 })]),
    ];
    expect(read(...pages)).toEqual([piece('It is red')]);
  });

  test('the last parts of a turn withdraw text that never reached the log', () => {
    const assembler = new PartAssembler();
    assembler.read(page([batch(1, [text('It is bl')])]));
    expect(withoutIds(assembler.end())).toEqual([restart()]);
    expect(assembler.end()).toEqual([]);
  });
});

describe('parts of a message in the log', () => {
  test('a reader without streamed pieces gets each message, call and result from the log', () => {
    const log = [says(2, 'Let me see.', ['{}']), result(3, 'c2_0', 'sky'), says(4, 'It is blue.')];
    expect(read(page([], log))).toEqual([
      piece('Let me see.'),
      { type: 'tool-call', step: 1, call: 'c2_0', name: 'look', arguments: '{}' },
      { type: 'tool-result', step: 1, call: 'c2_0', content: 'sky', isError: false },
      piece('It is blue.', 2),
    ]);
  });

  test('the recorded message completes the streamed text of a reader, and withdraws text that the log does not have', () => {
    const begun = page([batch(1, [text('It is ')])]);
    expect(read(begun, page([], [says(2, 'It is blue.')]))).toEqual([piece('It is '), piece('blue.')]);
    expect(read(begun, page([], [says(2, 'No idea.')]))).toEqual([piece('It is '), restart(), piece('No idea.')]);
    expect(read(begun, page([], [result(2, 'c1_0', 'closed')])).slice(1)).toMatchObject([
      restart(),
      { type: 'tool-result' },
    ]);
  });

  test('a streamed tool call is withdrawn if the recorded model call made another tool call', () => {
    const call = { kind: 'call', call: 0, name: 'find' } as const;
    expect(read(page([batch(1, [call])]), page([], [says(2, '', ['{}'])]))).toMatchObject([
      { type: 'tool-call-start', name: 'find' },
      restart(),
      { type: 'tool-call', name: 'look' },
    ]);
  });

  test('a late reader gets all parts in the order of the turn, with the reasoning of each step before its message', () => {
    const entries = [
      batch(1, [{ kind: 'reasoning', at: 0, text: 'hm' }]),
      { id: '2-0', compaction: { version: 1, tokensBefore: 9, tokensAfter: 5, archived: 2, head: 3 } },
      batch(3, [{ kind: 'reasoning', at: 0, text: 'so' }, text('It')], { seq: 4 }),
    ];
    const log = [says(2, 'Look', ['{}']), result(3, 'c2_0', 'sky'), says(4, 'It is.')];
    const whole = [
      { type: 'reasoning', step: 1, piece: 'hm' },
      piece('Look'),
      { type: 'tool-call', step: 1, call: 'c2_0', name: 'look', arguments: '{}' },
      { type: 'tool-result', step: 1, call: 'c2_0', content: 'sky', isError: false },
      { type: 'compaction', version: 1, tokensBefore: 9, tokensAfter: 5, archived: 2 },
      { type: 'reasoning', step: 2, piece: 'so' },
      piece('It', 2),
      piece(' is.', 2),
    ];
    expect(read(page(entries, log))).toEqual(whole);
    const [first, ...rest] = entries as [StreamEntry, ...StreamEntry[]];
    const inPages = [page([first], log, { hasMoreEntries: true }), page(rest, log)];
    expect(read(...inPages), 'stream in pages').toEqual(whole);
    const inLogPages = [
      page(entries, log.slice(0, 1), { hasMoreLog: true, head: 4 }),
      page(entries.slice(1), log.slice(1)),
    ];
    expect(read(...inLogPages), 'log in pages').toEqual(whole);
  });

  test('a reader starts again from the log if a failover lost log entries that the reader has received', () => {
    const log = [says(2, 'It is blue.')];
    const assembler = new PartAssembler();
    assembler.read(page([], log));
    const { parts, isBehind } = assembler.read(page([], [], { head: 1 }));
    expect(withoutIds(parts)).toEqual([restart()]);
    expect(isBehind).toBe(true);
    expect(withoutIds(assembler.read(page([], [says(2, 'It is red.')])).parts)).toEqual([piece('It is red.')]);
  });

  test('a reader that starts again after a failover gets the values of a call that runs again', () => {
    const log = [says(2, '', ['{}'])];
    const drawn = entry(3, { ...result(3, 'c2_0', 'sky').message, data: [{ name: 'chart', data: 1 }] });
    const assembler = new PartAssembler();
    assembler.read(page([], [...log, drawn]));
    assembler.read(page([], [], { head: 1 }));
    const noted = { step: 1, calls: 1, notes: [{ call: 'c2_0', data: { name: 'chart', data: 1 } }] };
    const again = withoutIds(assembler.read(page([{ id: '5-0', noted }], log)).parts);
    expect(again.at(-1)).toEqual({ type: 'data', step: 1, call: 'c2_0', name: 'chart', data: 1 });
  });
});

describe('a reader that resumes', () => {
  const begun = page([batch(1, [text('It is ')])]);

  test('a reader that resumes after an id gets the following parts, from streamed pieces and from the log', () => {
    const more = page([batch(1, [text('It is ')]), batch(2, [text('blue', 6)])]);
    expect(resume([begun], more)).toEqual([piece('blue')]);
    expect(resume([begun], page([], [says(2, 'It is blue.')]))).toEqual([piece('blue.')]);
    const log = [says(2, 'It is blue.', ['{}']), result(3, 'c2_0', 'sky')];
    expect(resume([begun, page([], log.slice(0, 1))], page([], log.slice(1)))).toMatchObject([{ type: 'tool-result' }]);
  });

  test('a reader that resumes withdraws its text if the step now has another text', () => {
    const other = page([batch(1, [text('It is ')]), batch(2, [text('It may be')], { epoch: 2 })]);
    expect(resume([begun], other)).toEqual([restart(), piece('It may be')]);
    const shorter = page([batch(2, [text('It')], { epoch: 2 })]);
    expect(resume([begun], shorter)).toEqual([restart(), piece('It')]);
    expect(resume([begun], page([], [says(2, 'It may be')]))).toEqual([restart(), piece('It may be')]);
  });

  test('a reader that resumes waits for the log if the pieces up to its id are gone', () => {
    expect(resume([begun], page([batch(2, [text('blue', 6)])]))).toEqual([]);
    const sealed = page([batch(2, [text('blue', 6)])], [says(2, 'It is blue.')]);
    expect(resume([begun], sealed)).toEqual([piece('blue.')]);
  });

  test('a reader that resumes gets each compaction only once', () => {
    const compaction = { id: '2-0', compaction: { version: 3, tokensBefore: 9, tokensAfter: 5, archived: 2, head: 1 } };
    expect(resume([page([compaction])], page([compaction]))).toEqual([]);
  });

  test('each part has an id that the option `after` accepts', () => {
    const assembler = new PartAssembler();
    const log = [says(2, 'It is blue.', ['{}', '{}']), result(3, 'c2_0', 'sky')];
    const { parts } = assembler.read(page([batch(1, [text('It is ')])], log));
    for (const { id } of parts) expect(positionSchema.safeParse(id).success, id).toBe(true);
    expect(new Set(parts.map(({ id }) => id)).size).toBe(parts.length);
    for (const id of ['', '1', '1-1', '1-1-1-x', '1-1-1-1.1.1.1.1.', 'x'.repeat(1_000_000)]) {
      expect(positionSchema.safeParse(id).success, id.slice(0, 20)).toBe(false);
    }
  });
});

test('a reader that resumes after any part gets the parts that follow, even if the stream has only the first pieces', () => {
  const whole = page(
    [batch(1, [text('echo')])],
    [says(2, 'echoed and told', ['{}']), result(3, 'c2_0', 'ok'), says(4, 'done')],
  );
  const { parts } = new PartAssembler().read(whole);
  expect(withoutIds(parts).map(({ type }) => type)).toEqual(['text', 'text', 'tool-call', 'tool-result', 'text']);
  for (const [index, { id }] of parts.entries()) {
    const position = positionSchema.parse(id);
    const log = whole.log.filter(({ seq }) => seq > position.seq);
    const rest = new PartAssembler(position).read({ ...whole, log }).parts;
    expect(rest, `behind part ${index}`).toEqual(parts.slice(index + 1));
  }
});

test('a reader that resumes gets no pieces of a failed model call once the message of another model call is in the log', () => {
  const whole = page([batch(1, [text('something else entirely')])], [says(2, 'echoed and told')]);
  const { parts } = new PartAssembler().read(whole);
  expect(withoutIds(parts)).toEqual([piece('echoed and told')]);
  const before = page([batch(1, [text('something else entirely')])]);
  expect(resume([before], whole)).toEqual([restart(), piece('echoed and told')]);
});

describe('reasoning', () => {
  const thinks = (value: string, at = 0): StreamPiece => ({ kind: 'reasoning', at, text: value });
  const thought = (value: string): Body => ({ type: 'reasoning', step: 1, piece: value });
  const recorded = (reasoning: string | undefined, content = 'Blue.'): LogEntry => {
    return entry(2, { role: 'assistant', content, ...(reasoning !== undefined && { reasoning }) });
  };

  test('a reader that joins late gets the reasoning of the log before the text', () => {
    expect(read(page([], [recorded('I look up.')]))).toEqual([thought('I look up.'), piece('Blue.')]);
  });

  test('a reader that has the start of the reasoning gets its rest from the log', () => {
    const pages = [page([batch(1, [thinks('I look')])]), page([], [recorded('I look up.')])];
    expect(read(...pages)).toEqual([thought('I look'), thought(' up.'), piece('Blue.')]);
    expect(resume(pages.slice(0, 1), page([], [recorded('I look up.')]))).toEqual([thought(' up.'), piece('Blue.')]);
  });

  test('reasoning of a model call that failed is taken back, also after a resume', () => {
    const before = [page([batch(1, [thinks('I guess')])])];
    const log = page([], [recorded('I look up.')]);
    const expected = [restart(), thought('I look up.'), piece('Blue.')];
    expect(read(...before, log)).toEqual([thought('I guess'), ...expected]);
    expect(resume(before, log)).toEqual(expected);
    const live = page([batch(2, [thinks('I look up.')], { attempt: 2 })]);
    expect(resume(before, live)).toEqual([restart(), thought('I look up.')]);
  });

  test('a reader keeps reasoning that the log does not have', () => {
    const before = [page([batch(1, [thinks('I look'), text('Bl')])])];
    const log = page([], [recorded(undefined)]);
    expect(read(...before, log)).toEqual([thought('I look'), piece('Bl'), piece('ue.')]);
    expect(resume(before, log)).toEqual([piece('ue.')]);
  });

  test('a reader keeps reasoning whose end the log leaves out', () => {
    const long = 'x'.repeat(MAX_REASONING_CHARACTERS);
    const before = [page([batch(1, [thinks(`${long}y`)])])];
    expect(resume(before, page([], [recorded(long)]))).toEqual([piece('Blue.')]);
  });
});

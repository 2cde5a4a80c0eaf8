import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { runToEnd } from '../../../src/domain/interruptible.ts';
import { buildLog, CLOSING_RESULT, type Message } from '../../../src/domain/message.ts';
import { readLogProgress } from '../../../src/summarize/progress/progress.ts';
import { type WorkDone, WorkReader } from '../../../src/summarize/progress/work-done.ts';
import { round } from '../structural/sequence-messages.ts';

const edit = (id: string, path: string) => round({ id, name: 'edit', given: { path, text: 'x' }, result: 'done' });
const runTests = (id: string, result: string) =>
  round({ id, name: 'bash', given: { command: 'npm test' }, result, isError: result.startsWith('1 failed') });

function entriesOf(messages: readonly Message[]) {
  return buildLog(
    messages.map((message) => ({ message, tokens: 1, bytes: 1 })),
    1,
    undefined,
    70,
  );
}

function readWork(messages: readonly Message[], pages: readonly number[] = [messages.length]): WorkDone {
  const entries = entriesOf(messages);
  const reader = new WorkReader(1);
  let from = 0;
  for (const size of [...pages, messages.length]) {
    runToEnd(reader.read(entries.slice(from, from + size)));
    from = Math.min(entries.length, from + size);
  }
  return reader.show();
}

it('the work done has the changed files with the newest change first, the last test run and the tasks, each with its message', () => {
  const plan = round({
    id: 'p',
    name: 'plan',
    given: {
      steps: [
        { step: 'Mend it', status: 'done' },
        { step: 'Test it', status: 'open' },
      ],
    },
  });
  const work = readWork([...edit('1', 'a.ts'), ...runTests('2', '2 passed, 0 failed'), ...plan, ...edit('3', 'b.ts')]);
  expect(work).toMatchObject({ from: 1, head: 8 });
  expect(work.files).toEqual({
    count: 2,
    last: [
      { path: 'b.ts', seq: 7, by: [{ name: 'edit', count: 1 }] },
      { path: 'a.ts', seq: 1, by: [{ name: 'edit', count: 1 }] },
    ],
  });
  expect(work.tests).toEqual({ call: 'bash npm test', lines: ['2 passed, 0 failed'], isOld: true, seq: 3, at: 70 });
  expect(work.tasks).toEqual({
    list: [
      { text: 'Mend it', status: 'done', isClosed: true },
      { text: 'Test it', status: 'open', isClosed: false },
    ],
    seq: 5,
    at: 70,
  });
});

it('the work done counts calls that worked, failed or have no result, and names the last of them', () => {
  const closed: Message[] = [
    { role: 'assistant', content: '', toolCalls: [{ id: 'x', name: 'pay', arguments: '{"invoice":"INV-1"}' }] },
    { role: 'tool', toolCallId: 'x', content: CLOSING_RESULT.content },
  ];
  const open: Message = { role: 'assistant', content: '', toolCalls: [{ id: 'o', name: 'ask', arguments: '{}' }] };
  const looks = Array.from({ length: 9 }, (_, at) => round({ id: `l${at}`, name: 'read', given: { path: `f${at}` } }));
  const { calls } = readWork([...looks.flat(), ...runTests('t', '1 failed, 2 passed'), ...closed, open]);
  expect(calls.unanswered).toBe(2);
  expect(calls.failed).toEqual({
    count: 1,
    last: [{ seq: 19, at: 70, call: 'bash npm test', outcome: '✗ error: 1 failed, 2 passed' }],
  });
  expect(calls.worked.count).toBe(9);
  expect(calls.worked.last.map(({ call }) => call)).toEqual(['read f8', 'read f7', 'read f6', 'read f5', 'read f4']);
});

it('the work done of a call that ended without a result does not say that the call worked or changed a file', () => {
  const [call, result] = edit('1', 'a.ts') as [Message, Message];
  const work = readWork([call, { ...result, content: CLOSING_RESULT.content }]);
  expect(work.files.count).toBe(0);
  expect(work.calls).toMatchObject({ worked: { count: 0 }, unanswered: 1 });
});

it('a result whose call was not read is ignored', () => {
  expect(readWork(edit('1', 'a.ts').slice(1))).toMatchObject({ calls: { worked: { count: 0 }, unanswered: 0 } });
});

it('no text of the work done is longer than its limit, and none breaks a line', () => {
  const long = 'word '.repeat(50_000);
  const todo = { steps: [{ step: `${long}\n${long}`, status: 'open' }] };
  const work = readWork([
    ...round({ id: '1', name: 'run', given: { note: long }, result: `error: ${long}\n${long}`, isError: true }),
    ...round({ id: '2', name: 'plan', given: todo, result: 'ok' }),
    ...round({ id: '3', name: 'bash', given: { command: `rm ${'f '.repeat(40)}` }, result: '' }),
  ]);
  const texts = JSON.stringify(work).match(/"(?:[^"\\]|\\.)*"/g) ?? [];
  expect(Math.max(...texts.map((text) => text.length))).toBeLessThan(260);
  expect(texts.filter((text) => text.includes('\\n'))).toEqual([]);
});

const anyRound = fc.oneof(
  fc.constantFrom('a.ts', 'b.ts', 'c.ts').map((path) => (id: string) => edit(id, path)),
  fc.constantFrom('1 failed, 2 passed', '3 passed, 0 failed').map((said) => (id: string) => runTests(id, said)),
  fc
    .constantFrom('open', 'done')
    .map((status) => (id: string) => round({ id, name: 'plan', given: { list: [{ step: 'Do it', status }] } })),
);

it('reading a log in pages gives the progress of the whole log, however it is divided', () => {
  fc.assert(
    fc.property(fc.array(anyRound, { maxLength: 12 }), fc.array(fc.integer({ min: 1, max: 5 })), (rounds, pages) => {
      const messages = rounds.flatMap((make, at) => make(`c${at}`));
      const work = readWork(messages, pages);
      const { files, tests, todo, calls } = runToEnd(readLogProgress(messages));
      expect(work.files.last.map(({ path }) => path)).toEqual(files.map(({ path }) => path).toReversed());
      expect([work.tests?.lines, work.tests?.isOld]).toEqual([tests?.lines, tests?.isOld]);
      expect(work.tests?.seq).toBe(tests && tests.message + 1);
      expect(work.tasks?.seq).toBe(todo && todo.message + 1);
      expect(work.calls.worked.count + work.calls.failed.count).toBe(calls.length);
      expect(work).toEqual(readWork(messages));
    }),
  );
});

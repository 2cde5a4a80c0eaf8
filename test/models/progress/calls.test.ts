import { expect, it } from 'vitest';
import { CLOSING_RESULT } from '../../../src/domain/message.ts';
import { describeOutcome, listMadeCalls, nameCall, writeOutcome } from '../../../src/summarize/progress/calls.ts';
import { round } from '../structural/sequence-messages.ts';

function call(name: string, given: Readonly<Record<string, unknown>>) {
  return { id: 'c', name, arguments: JSON.stringify(given) };
}

it('equal calls count up, and only the last of them is not repeated', () => {
  const made = listMadeCalls(['a', 'b', 'a'].flatMap((path, at) => round({ id: `c${at}`, given: { path } })));
  expect(made.map(({ count, isRepeated, result }) => [count, isRepeated, result])).toEqual([
    [1, true, 1],
    [1, false, 3],
    [2, false, 5],
  ]);
});

it('a call that is not answered has no result', () => {
  const [open] = listMadeCalls(round({ id: 'a' }).slice(0, 1));
  expect(open && writeOutcome(open, undefined)).toBe('⇒ no result');
});

it('a call is counted together with equal calls before it that ended in the same way', () => {
  const run = (isError: boolean, at: number) => [
    { role: 'assistant' as const, content: '', toolCalls: [{ ...call('run', { path: 'a.py' }), id: `r${at}` }] },
    { role: 'tool' as const, content: isError ? 'boom' : 'done', toolCallId: `r${at}`, isError },
  ];
  const made = listMadeCalls([false, false, true, true, false].flatMap(run));
  expect(made.map(({ count }) => count)).toEqual([1, 2, 1, 2, 1]);
});

it.each([
  [{ content: 'paid' }, 'ok: paid'],
  [{ content: '255.0' }, 'ok: 255.0'],
  [{ content: 'ok' }, 'ok'],
  [{ content: 'The user has agreed to it.' }, 'ok'],
  [{ content: '0 errors, 3 files' }, 'ok'],
  [{ content: CLOSING_RESULT.content }, 'no result'],
  [{ content: 'The tool use was rejected. Wait.' }, 'The tool use was rejected. Wait.'],
  [{ content: '(eval):1: no matches found: --include=*.go' }, '(eval):1: no matches found: --include=*.go'],
  [{ content: `3 rows\n${'x'.repeat(700)} was rejected` }, 'ok'],
  [{ content: 'line 1\nline 2' }, 'ok'],
  [{ content: 'Error: sudo: a password is required', isError: true }, '✗ Error: sudo: a password is required'],
  [{ content: '<tool_error>File does not exist.</tool_error>', isError: true }, '✗ error: File does not exist.'],
  [{ content: 'cc a.c\nmake: stop\nexit code 2' }, '✗ exit code 2: make: stop'],
  [{ content: '<out exit_code="3">\nmake: stop\n</out>' }, '✗ exit code 3: make: stop'],
  [{ content: 'TypeError: x is null\n    at pay (a.ts:4)', isError: true }, '✗ TypeError: x is null'],
  [{ content: '', isError: true }, '✗ error'],
])('the outcome of the result %j is %j', (result, text) => {
  expect(describeOutcome(result).text).toBe(text);
});

it.each([
  ['bash', { description: 'Run it', command: 'make test' }, 'bash make test {description: Run it}'],
  ['read', { path: 'src/a.ts' }, 'read src/a.ts'],
  ['refund', { invoice: 'INV-1', cents: 5 }, 'refund {invoice: INV-1, cents: 5}'],
  ['write', { content: 'one\ntwo', path: 'a.md' }, 'write a.md'],
  ['think', { thought: `The cause is ${'far away '.repeat(40)}` }, 'think {thought: The cause is far away far away …}'],
  ['get_order_details', { order_id: '#W1' }, 'get_order_details #W1'],
  ['cancel', { order_id: '#W1' }, 'cancel {order_id: #W1}'],
  [
    'book',
    { cabin: 'business', flights: ['HAT072', 'HAT278', 'HAT279', 'HAT280'] },
    'book {cabin: business, flights: HAT072, …}',
  ],
  ['list', {}, 'list'],
])('a call of %s with %j is described as %j', (name, given, text) => {
  expect(nameCall(call(name, given), 48).text).toBe(text);
});

it('a long command is cut between words, and says that it is not whole', () => {
  const { text, isWhole } = nameCall(call('bash', { command: `grep -rn ${'some_name '.repeat(20)}` }), 60);
  expect(text).toMatch(/^bash grep -rn (?:some_name )+…$/);
  expect(isWhole).toBe(false);
});

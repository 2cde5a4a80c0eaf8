import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { findSuperseded } from '../../../src/compaction/evidence/superseded.ts';
import { runToEnd } from '../../../src/domain/interruptible.ts';
import type { Message } from '../../../src/domain/message.ts';

type Round = readonly [name: string, args: unknown, outcome?: 'ok' | 'error'];

/** Each round is a call and its result. The result of the round at index n is message 2n + 1. */
function talk(...rounds: readonly Round[]): Message[] {
  return rounds.flatMap(([name, args, outcome = 'ok'], index): Message[] => {
    const id = `c${2 * index + 1}_0`;
    const text = typeof args === 'string' ? args : JSON.stringify(args);
    return [
      { role: 'assistant', content: '', toolCalls: [{ id, name, arguments: text }] },
      { role: 'tool', content: 'result', toolCallId: id, ...(outcome === 'error' && { isError: true }) },
    ];
  });
}

const staleOf = (...rounds: readonly Round[]): number[] =>
  [...runToEnd(findSuperseded(talk(...rounds)))].toSorted((a, b) => a - b);

test('reading a file again makes the earlier result of the same file stale', () => {
  expect(staleOf(['read', { path: 'a.ts' }], ['read', { path: 'b.ts' }], ['read', { path: 'a.ts' }])).toEqual([1]);
});

test('a listing that is called three times leaves only its last result current', () => {
  expect(staleOf(['ls', {}], ['ls', {}], ['ls', {}])).toEqual([1, 3]);
});

test('a tool result stays current if another tool has the same arguments, or if another page of the same file is read', () => {
  expect(staleOf(['read', { path: 'a.ts' }], ['stat', { path: 'a.ts' }])).toEqual([]);
  expect(staleOf(['read', { path: 'a.ts' }], ['read', { path: 'a.ts', offset: 200 }])).toEqual([]);
});

test('an earlier success and a failed repeat of a call become stale only when the same call succeeds again', () => {
  const rounds: Round[] = [
    ['test', { name: 'all' }],
    ['test', { name: 'all' }, 'error'],
  ];
  expect(staleOf(...rounds)).toEqual([]);
  expect(staleOf(...rounds, ['test', { name: 'all' }])).toEqual([1, 3]);
});

test('an error becomes stale once the same call has succeeded or failed again', () => {
  expect(staleOf(['test', '{}', 'error'], ['test', '{}'])).toEqual([1]);
  expect(staleOf(['test', '{}', 'error'], ['test', '{}', 'error'])).toEqual([1]);
});

test('an edit that succeeds makes earlier failed edits of the same file stale', () => {
  const fails = (old: string, path = 'a.ts'): Round => ['edit', { path, old }, 'error'];
  expect(staleOf(fails('x'), fails('y'), fails('x', 'b.ts'), ['edit', { path: 'a.ts', old: 'z' }])).toEqual([1, 3]);
});

test('a tool error stays current after a success of another tool, with another first argument, or without arguments', () => {
  const failed: Round = ['edit', { path: 'a.ts' }, 'error'];
  expect(staleOf(failed, ['edit', { path: 'b.ts' }])).toEqual([]);
  expect(staleOf(failed, ['write', { path: 'a.ts', text: '' }])).toEqual([]);
  expect(staleOf(failed, ['edit', {}], ['edit', 'null'], ['edit', '{"path":']), 'arguments without a path').toEqual([]);
});

test('results of unknown calls and messages without calls are never stale', () => {
  const message: Message = { role: 'tool', content: 'late', toolCallId: 'c9_0' };
  expect([...runToEnd(findSuperseded([message, message, { role: 'user', content: 'hello' }]))]).toEqual([]);
});

test('the last success of each call stays current, and so does an error that came after this success', () => {
  const round = fc.tuple(
    fc.constantFrom('read', 'edit'),
    fc.record({ path: fc.constantFrom('a', 'b') }),
    fc.constantFrom('ok' as const, 'error' as const),
  );
  fc.assert(
    fc.property(fc.array(round, { maxLength: 12 }), (rounds) => {
      const inForce = new Set<number>();
      for (const call of Map.groupBy(rounds.keys(), (at) => JSON.stringify(rounds[at]?.slice(0, 2))).values()) {
        const success = call.findLast((at) => rounds[at]?.[2] === 'ok') ?? -1;
        const error = call.findLast((at) => rounds[at]?.[2] === 'error') ?? -1;
        if (success >= 0) inForce.add(success);
        if (error > success) inForce.add(error);
      }
      const stale = runToEnd(findSuperseded(talk(...rounds)));
      expect(rounds.flatMap((_, at) => (stale.has(2 * at + 1) ? [] : [at]))).toEqual(
        [...inForce].toSorted((a, b) => a - b),
      );
    }),
  );
});

test('a success with the same settings but another target leaves the error of a call current', () => {
  const run = (command: string, outcome: 'ok' | 'error' = 'ok'): Round => [
    'shell',
    { session: 'main', description: 'Install', command },
    outcome,
  ];
  expect(staleOf(run('make a', 'error'), run('make b'))).toEqual([]);
  expect(staleOf(run('make a', 'error'), ['shell', { command: 'make a' }])).toEqual([1]);
  const edit = (path: string, outcome: 'ok' | 'error' = 'ok'): Round => ['edit', { command: 'replace', path }, outcome];
  expect(staleOf(edit('a.ts', 'error'), edit('b.ts'))).toEqual([]);
  expect(staleOf(edit('a.ts', 'error'), edit('a.ts'))).toEqual([1]);
  const click = (id: number, outcome: 'ok' | 'error' = 'ok'): Round => ['page', { action: 'click', id }, outcome];
  expect(staleOf(click(1, 'error'), click(2))).toEqual([]);
});

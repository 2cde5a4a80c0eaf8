import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { runToEnd } from '../../../src/domain/interruptible.ts';
import { chooseCalls, shareOf } from '../../../src/summarize/structural/call-choice.ts';
import { readSource } from '../../../src/summarize/structural/summary-source.ts';
import { loadTokenCounter } from '../../../src/wire/tokens/token-counter.ts';
import { round } from './sequence-messages.ts';

const counter = await loadTokenCounter('o200k_base');

function choose(rounds: readonly Parameters<typeof round>[0][], room: number): string[] {
  const messages = rounds.flatMap((one) => round(one));
  const range = { from: 1, to: messages.length };
  return [...chooseCalls(counter, runToEnd(readSource({ range, messages })), room).lines.values()];
}

it('the room for calls grows with the summary, and is a smaller part of a larger summary', () => {
  const room = { most: 1_000, half: 1_500 };
  expect([150, 600, 1_500, 6_000].map((tokens) => shareOf(tokens, room))).toEqual([90, 285, 500, 800]);
});

it('the newest calls are chosen, and old calls that failed or changed something', () => {
  const reads = Array.from({ length: 60 }, (_, at) => ({ id: `r${at}`, given: { path: `src/${at}.ts` } }));
  const old = [
    { id: 'p', name: 'pay', given: { invoice: 'INV-1' } },
    { id: 'f', name: 'get_order', given: { order: 'W1' }, result: 'denied', isError: true },
  ];
  const lines = choose([...old, ...reads], 600);
  expect(lines).toContain('read src/59.ts');
  expect(lines).not.toContain('read src/1.ts');
  expect(lines).toEqual(expect.arrayContaining(['pay {invoice: INV-1}', 'get_order {order: W1}']));
});

it('equal calls are one line, and equal errors of different calls are lines of their own', () => {
  const failed = ['a', 'b'].map((path) => ({
    id: path,
    name: 'install',
    given: { path },
    result: 'denied',
    isError: true,
  }));
  const again = { ...(failed[0] as (typeof failed)[0]), id: 'again' };
  expect(choose([...failed, again], 600).toSorted()).toEqual(['install a', 'install b']);
});

it('the chosen calls never take more than their room', () => {
  const anyRound = fc.record({
    id: fc.uuid(),
    name: fc.constantFrom('read', 'edit'),
    given: fc.dictionary(fc.constantFrom('path', 'text', 'command'), fc.string({ maxLength: 200 })),
    result: fc.string(),
    isError: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(anyRound, { maxLength: 30 }), fc.integer({ min: 24, max: 2_000 }), (rounds, room) => {
      const messages = rounds.flatMap((one) => round(one));
      const source = runToEnd(readSource({ range: { from: 1, to: messages.length }, messages }));
      expect(chooseCalls(counter, source, room).tokens).toBeLessThanOrEqual(
        shareOf(room, { most: 1_000, half: 1_500 }),
      );
    }),
  );
});

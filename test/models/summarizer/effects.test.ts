import { expect, it } from 'vitest';
import type { Message } from '../../../src/domain/message.ts';
import { listEffects } from '../../../src/summarize/model/effects.ts';
import { listMadeCalls } from '../../../src/summarize/progress/calls.ts';
import { loadTokenCounter } from '../../../src/wire/tokens/token-counter.ts';
import { round } from './fixture.ts';

const counter = await loadTokenCounter('o200k_base');

function list(messages: readonly Message[]): string[] {
  return listEffects(counter, { calls: listMadeCalls(messages), messages }, 200);
}

it('the section of side effects lists the calls in order, each with its newest outcome', () => {
  const messages = [
    ...round({ id: 'a', name: 'pay', given: { invoice: 'INV-1' }, result: 'error: declined', isError: true }),
    ...round({ id: 'b', name: 'run', given: { command: 'make' }, result: 'cc a.c\na.c:4: no such file\nexit code 2' }),
    ...round({ id: 'c', name: 'pay', given: { invoice: 'INV-1' }, result: 'paid' }),
    {
      role: 'assistant' as const,
      content: '',
      toolCalls: [{ id: 'd', name: 'mail', arguments: '{"to":"a@b.example"}' }],
    },
  ];
  expect(list(messages)).toEqual([
    '- run make ⇒ ✗ exit code 2: a.c:4: no such file',
    '- pay {invoice: INV-1} ⇒ ok: paid',
    '- mail {to: a@b.example} ⇒ no result',
  ]);
});

it('the section of side effects leaves out read-only calls first, then the oldest calls, and says how many', () => {
  const calls = Array.from({ length: 20 }, (_, at) => [
    ...round({ id: `p${at}`, name: 'pay', given: { invoice: `INV-${at}` } }),
    ...round({ id: `g${at}`, name: 'get_invoice', given: { invoice: `INV-${at}` } }),
  ]);
  const lines = list(calls.flat());
  expect(lines.at(-2)).toBe('- pay {invoice: INV-19} ⇒ ok: done');
  expect(lines.at(-1)).toMatch(/^- and \d\d more$/);
  expect(lines.join()).not.toContain('get_invoice');
});

it('the section of side effects names the target of a call, and leaves out long texts', () => {
  const given = { content: 'one two three '.repeat(100), path: 'src/a_long_folder/with_a_file.ts' };
  const [line = ''] = list(round({ id: 'a', name: 'write_file', given }));
  expect(line).toBe('- write_file src/a_long_folder/with_a_file.ts ⇒ ok: done');
});

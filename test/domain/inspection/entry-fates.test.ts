import { describe, expect, test } from 'vitest';
import {
  type EntryFate,
  passFates,
  traceAncestors,
  traceFates,
} from '../../../src/compaction/inspection/entry-fates.ts';
import { outlineEntry, startOf } from '../../../src/compaction/inspection/outline.ts';
import { runToEnd } from '../../../src/domain/interruptible.ts';
import type { Message } from '../../../src/domain/message.ts';
import { type Segment, START_VERSION, type Version } from '../../../src/domain/version.ts';
import { callTools, toolResult, user } from '../messages.ts';
import { clipped, evicted, masked, raw, summary } from './segments.ts';

function version(number: number, parent: number, ...segments: readonly Segment[]): Version {
  return { ...START_VERSION, number, parent, cause: 'pass', base: segments.at(-1)?.to ?? 0, segments: [...segments] };
}

function fatesOf(...chain: readonly Version[]): string[] {
  return runToEnd(traceFates(chain)).map(({ from, to, state, by }) => `${from}-${to} ${state} ${by}`);
}

describe('the fate of a message: live, masked, clipped, summarized or archived', () => {
  test('the fate of a range names the version that first showed the range in its present form', () => {
    const first = version(1, 0, masked(1, 4), raw(5, 8));
    const second = version(2, 1, evicted(1, 2), masked(3, 6), raw(7, 9));
    const third = version(3, 2, evicted(1, 3), masked(4, 6), clipped(7, 50), raw(8, 9));
    expect(fatesOf(first)).toEqual(['1-4 masked 1']);
    expect(fatesOf(first, second)).toEqual(['1-2 archived 2', '3-4 masked 1', '5-6 masked 2']);
    expect(fatesOf(first, second, third)).toEqual([
      '1-2 archived 2',
      '3-3 archived 3',
      '4-4 masked 1',
      '5-6 masked 2',
      '7-7 clipped 3',
    ]);
  });

  test('the fate of a summarized range names the version that introduced the summary, and a restored message is live', () => {
    const first = version(1, 0, summary(1, 4, 1), raw(5, 6));
    const restored = version(2, 1, raw(1, 6));
    expect(fatesOf(first, version(2, 1, summary(1, 4, 1), evicted(5, 6)))).toEqual([
      '1-4 summarized 1',
      '5-6 archived 2',
    ]);
    expect(fatesOf(first, restored)).toEqual([]);
    expect(fatesOf(first, restored, version(3, 2, evicted(1, 1), raw(2, 6)))).toEqual(['1-1 archived 3']);
  });

  test('the fate of a message that was clipped twice names the later version', () => {
    expect(fatesOf(version(1, 0, clipped(1, 90)), version(2, 1, clipped(1, 40)))).toEqual(['1-1 clipped 2']);
    expect(fatesOf(version(1, 0, clipped(1, 90)), version(2, 1, clipped(1, 90)))).toEqual(['1-1 clipped 1']);
  });

  test('traceAncestors stops at the oldest version that is kept, or at a version that names itself as its parent', () => {
    const kept = [version(3, 2, raw(1, 1)), version(4, 3, raw(1, 1)), version(5, 4, raw(1, 1))];
    expect(traceAncestors(kept, kept[2] as Version).map(({ number }) => number)).toEqual([3, 4, 5]);
    expect(traceAncestors([version(6, 6, raw(1, 1))], version(6, 6, raw(1, 1))).map(({ number }) => number)).toEqual([
      6,
    ]);
    expect(traceAncestors([], { ...version(1, 0), parent: null }).map(({ number }) => number)).toEqual([1]);
  });

  test('passFates finds the fate of each message on a page that starts in the middle of the log', () => {
    const fates = runToEnd(traceFates([version(1, 0, evicted(1, 3), raw(4, 5), evicted(6, 9), raw(10, 12))]));
    const fateOf = passFates(fates, 5);
    expect([5, 6, 9, 10, 12].map((seq) => fateOf(seq)?.state)).toEqual([
      undefined,
      'archived',
      'archived',
      undefined,
      undefined,
    ]);
  });
});

describe('outlineEntry, which describes a log entry without its full text', () => {
  const fate: EntryFate = { from: 1, to: 9, state: 'masked', by: 4, shown: '' };
  const entry = (message: Message, tokens = 50) => ({
    seq: 3,
    message,
    tokens,
    bytes: 200,
    total: { tokens: 90, bytes: 400 },
    at: 7,
  });

  test('the outline of a log entry has the start of its text, the names of its calls and its marks', () => {
    expect(outlineEntry({ ...entry(user('where  is\nit?', { pinned: true })), turn: 't1' }, undefined)).toEqual({
      seq: 3,
      role: 'user',
      tokens: 50,
      bytes: 200,
      turn: 't1',
      at: 7,
      start: 'where is it?',
      pinned: true,
      state: 'live',
    });
    const thought = { format: 'anthropic', model: 'm', items: [{ type: 'thinking', thinking: 'hm', signature: 's' }] };
    expect(outlineEntry(entry({ ...callTools('c1', 'c2'), raw: thought }), undefined)).toMatchObject({
      start: '{}',
      calls: ['read', 'read'],
      thinking: true,
    });
    expect(outlineEntry(entry(toolResult('c1', 'no', { isError: true })), undefined)).toMatchObject({ isError: true });
    const cut = { role: 'assistant' as const, content: 'Half', stopped: true };
    expect(outlineEntry(entry(cut), undefined)).toMatchObject({ stopped: true });
  });

  test('the outline shows a message in a masked range as masked only if it is a large result or has a masked picture', () => {
    expect(outlineEntry(entry(toolResult('c1', 'large')), fate)).toMatchObject({ state: 'masked', by: 4 });
    expect(outlineEntry(entry(toolResult('c1', 'ok'), 5), fate)).toMatchObject({ state: 'live' });
    expect(outlineEntry(entry(user('x')), fate)).toMatchObject({ state: 'live' });
    expect(outlineEntry(entry(user('x')), { ...fate, shown: '1 picture' })).toMatchObject({ state: 'masked' });
    expect(outlineEntry(entry(user('x')), { ...fate, state: 'archived' })).toMatchObject({ state: 'archived', by: 4 });
  });

  test('the start of a text is one line of at most 160 characters, without half of a surrogate pair', () => {
    expect(startOf(`a\r\n\tb${' '.repeat(2_000_000)}c`)).toBe('a b');
    expect(startOf('x'.repeat(400))).toHaveLength(160);
    const cut = startOf(`${'x'.repeat(159)}😀`);
    expect(cut.isWellFormed()).toBe(true);
    expect(cut).toBe('x'.repeat(159));
    expect(startOf('<b>&amp;</b>')).toBe('<b>&amp;</b>');
  });
});

import * as fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { chooseExcerpts } from '../../src/compaction/choose-excerpts.ts';
import { contextOfLog } from '../../src/compaction/context.ts';
import { readEvidence } from '../../src/compaction/context-evidence.ts';
import { diffInSlices } from '../../src/compaction/diff.ts';
import { excerptMessage, mostRanges } from '../../src/compaction/excerpt.ts';
import { runToEnd } from '../../src/domain/interruptible.ts';
import { buildLog, type Message } from '../../src/domain/message.ts';
import {
  type ContextItem,
  type KeptRange,
  type Segment,
  START_VERSION,
  segmentSchema,
} from '../../src/domain/version.ts';
import { type BpeTokenCounter, loadTokenCounter } from '../../src/wire/tokens/token-counter.ts';
import { toolResult, user } from './messages.ts';
import { weighText } from './passes.ts';

let counter: BpeTokenCounter;

beforeAll(async () => {
  counter = await loadTokenCounter('o200k_base');
});

const says = (content: string): Message => ({ role: 'assistant', content });

function itemsOf(messages: readonly Message[]): readonly ContextItem[] {
  return contextOfLog(buildLog(messages.map((message) => ({ message, ...weighText(message) }))), START_VERSION).items;
}

/** Shortens the messages at these positions to `maxTokens` together. */
function excerptsOf(messages: readonly Message[], positions: readonly number[], maxTokens: number): ContextItem[] {
  const items = itemsOf(messages);
  const large = new Set(positions.map((position) => items[position] as ContextItem));
  const evidence = runToEnd(readEvidence(items));
  const made = runToEnd(chooseExcerpts({ items, large, maxTokens, evidence, weigh: weighText }));
  return [...large].map((item) => made.get(item) ?? item);
}

function keptOf({ segment }: ContextItem): readonly KeptRange[] {
  return segment?.kind === 'excerpt' ? segment.kept : expect.unreachable('no excerpt');
}

describe('the text of an excerpt', () => {
  test('an excerpt names its message and marks each place where text is missing', () => {
    const ranges: KeptRange[] = [
      [0, 3],
      [8, 11],
    ];
    expect(excerptMessage(says('one two three'), ranges, 7).content).toBe('[excerpt of message 7]\none\n… thr\n…');
    expect(excerptMessage(says('one two'), [[4, 7]], 7).content).toBe('[excerpt of message 7]\n… two');
    expect(excerptMessage(says('one two'), [], 7).content).toBe('[excerpt of message 7]\n…');
  });

  test('an excerpt keeps the role, the call id and the error mark, and leaves out provider items and pictures', () => {
    const result = toolResult('c1', 'abcdef', { isError: true, raw: [{}], parts: [{ type: 'image' }] });
    expect(excerptMessage(result, [[0, 2]], 1)).toEqual({
      role: 'tool',
      toolCallId: 'c1',
      isError: true,
      content: '[excerpt of message 1]\nab\n…',
    });
  });

  test('an excerpt contains well-formed text even if its ranges exceed the text or split a character', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 40 }),
        fc.array(fc.tuple(fc.nat(60), fc.nat(60)), { maxLength: 6 }),
        (content, ranges) => {
          fc.pre(content.isWellFormed());
          const excerpt = excerptMessage(says(content), ranges, 1);
          expect(excerpt.content.isWellFormed()).toBe(true);
          expect(excerptMessage(says(content), ranges, 1)).toEqual(excerpt);
        },
      ),
    );
  });

  test.each<{ kept: number[][]; isValid: boolean }>([
    {
      kept: [
        [0, 3],
        [3, 5],
      ],
      isValid: true,
    },
    { kept: [], isValid: true },
    {
      kept: [
        [3, 5],
        [0, 3],
      ],
      isValid: false,
    },
    {
      kept: [
        [0, 3],
        [2, 5],
      ],
      isValid: false,
    },
    { kept: [[3, 3]], isValid: false },
    { kept: [[-1, 3]], isValid: false },
  ])('the schema of segments accepts an excerpt with the ranges $kept: $isValid', ({ kept, isValid }) => {
    const segment = { kind: 'excerpt', from: 1, to: 1, weight: { tokens: 1, bytes: 1 }, kept };
    expect(segmentSchema.safeParse(segment).success).toBe(isValid);
  });

  test('diffVersions reports a change if two versions keep different ranges of the same message', () => {
    const segment = (kept: [number, number][]): Segment => ({
      kind: 'excerpt',
      from: 1,
      to: 1,
      weight: { tokens: 1, bytes: 1 },
      kept,
    });
    const versionOf = (kept: [number, number][]) => ({
      ...START_VERSION,
      number: 1,
      base: 1,
      segments: [segment(kept)],
    });
    const change = { from: 1, to: 1, before: 'excerpt', after: 'excerpt' };
    expect(runToEnd(diffInSlices(versionOf([[0, 3]]), versionOf([[0, 4]])))).toEqual([change]);
    expect(runToEnd(diffInSlices(versionOf([[0, 3]]), versionOf([[0, 3]])))).toEqual([]);
  });
});

describe('the choice of an excerpt', () => {
  const noise = Array.from({ length: 400 }, (_, line) => `DEBUG tick ${line} worker idle, nothing to do here`);
  const fact = 'ERROR payment_gateway.charge refused order ORD-7741: card_expired';

  test('an excerpt keeps the heading, the last line, and the line with a name that the agent mentioned', () => {
    const log = ['Log of the night run', ...noise.slice(0, 200), fact, ...noise.slice(200), 'exit code 1'].join('\n');
    const messages = [
      user('Why did ORD-7741 fail?'),
      says('I look for payment_gateway in the log.'),
      toolResult('c1', log),
      says('payment_gateway.charge refused ORD-7741.'),
    ];
    const [excerpt] = excerptsOf(messages, [2], 120);
    expect(excerpt?.message.content).toMatch(/^\[excerpt of message 3\]\nLog of the night run\n/);
    expect(excerpt?.message.content).toMatch(/exit code 1$/);
    expect(excerpt?.message.content).toContain(fact);
    expect(excerpt?.tokens).toBeLessThanOrEqual(120);
  });

  test.each([
    ['one word again and again', 'word '.repeat(8_000)],
    ['one line without a blank', 'x7Fq'.repeat(10_000)],
    ['blank lines', `a\n\n\n\n${'\n'.repeat(30_000)}b`],
    ['one letter a line', 'a\n'.repeat(20_000)],
    ['ideographs', '数据库连接失败重试'.repeat(4_000)],
    ['emoji', '😀😃'.repeat(8_000)],
  ])('an excerpt of %s fills its token limit and never exceeds it', (_, content) => {
    const [excerpt] = excerptsOf([user('Go.'), says(content)], [1], 1_000);
    expect(excerpt?.tokens).toBeLessThanOrEqual(1_000);
    if (!content.startsWith('a\n')) expect(excerpt?.tokens).toBeGreaterThanOrEqual(700);
    expect(excerpt?.message.content.isWellFormed()).toBe(true);
  });

  test('the ranges of an excerpt ascend and are limited in number, and its weight equals the weight of its text', () => {
    const line = fc.oneof(
      fc.constant(''),
      fc.string({ unit: 'grapheme', maxLength: 30 }),
      fc.constant('order ORD-17 paid'),
    );
    fc.assert(
      fc.property(
        fc.array(line, { minLength: 40, maxLength: 400 }),
        fc.integer({ min: 10, max: 1_000 }),
        (lines, most) => {
          const content = lines.join('\n');
          const messages = [user('Go.'), says(content), says('ORD-17')];
          const [excerpt] = excerptsOf(messages, [1], most);
          if (excerpt === undefined || excerpt.segment === undefined) return;
          const kept = keptOf(excerpt);
          expect(segmentSchema.safeParse(excerpt.segment).success).toBe(true);
          expect(kept.length).toBeLessThanOrEqual(mostRanges(content.length));
          expect(kept.every(([, end]) => end <= content.length)).toBe(true);
          expect(weighText(excerpt.message)).toEqual({ tokens: excerpt.tokens, bytes: excerpt.bytes });
        },
      ),
      { numRuns: 300 },
    );
  });

  test('an excerpt of a message with 100,000 short lines produces a segment of limited size', () => {
    const content = Array.from({ length: 100_000 }, (_, line) => (line % 2 === 0 ? `order ORD-${line}` : '')).join(
      '\n',
    );
    const [excerpt] = excerptsOf([user('Go.'), says(content)], [1], 30_000);
    expect(JSON.stringify(excerpt?.segment).length).toBeLessThan(20 * mostRanges(content.length));
  });

  test('a short excerpt of JSON in one line keeps whole JSON records', () => {
    const row = JSON.stringify({ flights: Array.from({ length: 40 }, (_, at) => ({ number: `HAT${at}`, seats: at })) });
    const [excerpt] = excerptsOf([user('Go.'), says(row)], [1], 32);
    expect(counter.countSync(excerpt?.message.content ?? '')).toBeGreaterThan(12);
    expect(excerpt?.message.content).toContain('"flights":[{"number":"HAT0","seats":0}');
    expect(excerpt?.message.content).not.toMatch(/"HAT\d*$/m);
  });
});

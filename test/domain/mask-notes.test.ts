import * as fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { buildContext, contextOfLog } from '../../src/compaction/context.ts';
import { maskResult } from '../../src/compaction/mask.ts';
import { findUsedNames } from '../../src/compaction/mask-names.ts';
import { maskWithNotes } from '../../src/compaction/mask-old.ts';
import { segmentItems } from '../../src/compaction/segments.ts';
import { readGroups } from '../../src/domain/group.ts';
import { runToEnd } from '../../src/domain/interruptible.ts';
import { buildLog, type Message, type Weight } from '../../src/domain/message.ts';
import { START_VERSION, segmentSchema } from '../../src/domain/version.ts';
import { type BpeTokenCounter, loadTokenCounter } from '../../src/wire/tokens/token-counter.ts';
import { toolResult, user } from './messages.ts';

let counter: BpeTokenCounter;
beforeAll(async () => {
  counter = await loadTokenCounter('o200k_base');
});

const weigh = ({ content }: Message): Weight => ({
  tokens: counter.countSync(content) + 4,
  bytes: Buffer.byteLength(content),
});
const says = (content: string): Message => ({ role: 'assistant', content });
const call = (id: string, name: string, given: object): Message => ({
  role: 'assistant',
  content: '',
  toolCalls: [{ id, name, arguments: JSON.stringify(given) }],
});
const FILE = `export class OrderBook {\n${'  // a line of the file\n'.repeat(30)}  refund_limit = 12500;\n  getTotal() {}\n}`;

const LOG: readonly Message[] = [
  user('Fix the refund.'),
  call('a', 'read_file', { path: 'src/orders.ts' }),
  toolResult('a', FILE),
  call('b', 'run', { command: 'make test' }),
  toolResult('b', `${'compiling\n'.repeat(60)}error in main_loop\nexit code 2`),
  says('OrderBook has a refund_limit of 12500. The well-known file fails in main_loop.'),
  call('c', 'edit', { path: 'src/orders.ts', text: 'refund_limit = 99' }),
  toolResult('c', 'ok'),
];

/** Masks results of a log, and builds the context of the version that holds the masks. */
function mask(log: readonly Message[], results: readonly number[]) {
  const entries = buildLog(log.map((message) => ({ message, ...weigh(message) })));
  const { items } = contextOfLog(entries, START_VERSION);
  const { callOf } = runToEnd(readGroups(log));
  const after = runToEnd(maskWithNotes({ items, callOf, chosen: results }, weigh));
  const segments = segmentItems(after, entries.length);
  const version = { ...START_VERSION, number: 1, base: entries.length, segments };
  const built = (head: readonly Message[]) => {
    const longer = buildLog(head.map((message) => ({ message, ...weigh(message) })));
    return buildContext({ version, head: longer.length, entries: longer, summaries: new Map() }).items;
  };
  return { after, segments, built };
}

describe('masks of tool results', () => {
  test('the mask of a tool result keeps the call, its status and the names from the result that the agent used later', () => {
    const { after } = mask(LOG, [2, 4]);
    expect(after[2]?.message.content).toMatch(
      /^\[result masked: read_file src\/orders\.ts → ok, used since: refund_limit OrderBook 12500, \d+ bytes, message 3 of the log\]$/,
    );
    expect(after[4]?.message.content).toMatch(
      /^\[result masked: run make test → exit code 2, used since: main_loop, \d+ bytes, message 5 of the log\]$/,
    );
  });

  test('a version with masks renders the same bytes after the log has grown and the agent has used more names', () => {
    const { after, built } = mask(LOG, [2, 4]);
    const later = [...LOG, says('Then getTotal was called.'), user('Go on.')];
    expect(built(LOG)).toEqual(after);
    expect(JSON.stringify(built(later).slice(0, LOG.length))).toBe(JSON.stringify(after));
  });

  test('a segment (range of messages) with a note is valid, and a stored version keeps the note', () => {
    const { segments } = mask(LOG, [2, 4]);
    const kept = segments.map((segment) => segmentSchema.parse(JSON.parse(JSON.stringify(segment))));
    expect(kept).toEqual(segments);
    expect(kept.flatMap((segment) => (segment.kind === 'masked' ? [segment.from] : []))).toEqual([3, 5]);
  });

  test('only the newest 128 masked results get notes, and neighbours without notes share a segment', () => {
    const rounds = Array.from({ length: 140 }, (_, at) => [
      call(`r${at}`, 'read_file', { path: `src/f${at}.ts` }),
      toolResult(`r${at}`, FILE),
    ]).flat();
    const results = rounds.flatMap(({ role }, at) => (role === 'tool' ? [at] : []));
    const { segments, after } = mask(rounds, results);
    const noted = segments.filter((segment) => segment.kind === 'masked' && segment.note !== undefined);
    expect(noted).toHaveLength(128);
    expect(segments.filter((segment) => segment.kind === 'masked' && segment.note === undefined)).toHaveLength(1);
    expect(after[1]?.message).toEqual(maskResult({ message: rounds[1] as Message, ...weigh(rounds[1] as Message) }, 2));
  });

  test('masks of random calls have at most 60 tokens and are smaller than the results that they replace', () => {
    const text = fc.string({ unit: fc.constantFrom('a_b', 'x9', '文', '🧺', ' ', '\n', '"', 'src/'), maxLength: 400 });
    fc.assert(
      fc.property(text, text, text, fc.boolean(), (given, result, use, isError) => {
        const log = [
          call('a', 'tool', { given }),
          toolResult('a', `${result} ${'word '.repeat(30)}`, { isError }),
          says(use),
        ];
        const [, item] = mask(log, [1]).after;
        if (item === undefined) throw new Error('no item');
        expect(weigh(item.message).tokens).toBeLessThanOrEqual(60);
        expect(item.tokens).toBeLessThanOrEqual(60);
        expect(item.message.content.isWellFormed()).toBe(true);
        expect(item.message.content).not.toContain('\n');
      }),
      { numRuns: 200 },
    );
  });
});

test('the used names of a tool result are those that later texts and calls of the agent contain, without plain words', () => {
  const names = runToEnd(findUsedNames(LOG, new Set([2, 4])));
  expect(names.get(2)).toEqual(['refund_limit', 'OrderBook', '12500']);
  expect(names.get(4)).toEqual(['main_loop']);
  const before = [says('main_loop'), ...LOG.slice(3, 5)];
  expect(runToEnd(findUsedNames(before, new Set([2]))).get(2)).toEqual([]);
});

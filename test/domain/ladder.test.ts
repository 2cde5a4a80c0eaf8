import * as fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { clipMessage } from '../../src/compaction/clip.ts';
import { buildContext, contextOfLog, weighItems } from '../../src/compaction/context.ts';
import { excerptMessage } from '../../src/compaction/excerpt.ts';
import { MASK_TOKENS, maskResult } from '../../src/compaction/mask.ts';
import { clipItem } from '../../src/compaction/shorten.ts';
import { runToEnd } from '../../src/domain/interruptible.ts';
import { buildLog, type Message } from '../../src/domain/message.ts';
import type { Reason } from '../../src/domain/pass.ts';
import type { PolicyInput } from '../../src/domain/policy.ts';
import { START_VERSION, type Version } from '../../src/domain/version.ts';
import { type BpeTokenCounter, loadTokenCounter } from '../../src/wire/tokens/token-counter.ts';
import { toolResult as result, user } from './messages.ts';
import { planPass, requestOver, settlePass, weighText } from './passes.ts';

let counters: readonly BpeTokenCounter[];

beforeAll(async () => {
  counters = await Promise.all([loadTokenCounter('o200k_base'), loadTokenCounter('cl100k_base')]);
});

const says = (content: string): Message => ({ role: 'assistant', content });
const calls = (id: string, given = '{"path":"a"}'): Message => ({
  role: 'assistant',
  content: '',
  toolCalls: [{ id, name: 'read', arguments: given }],
});

function settle(messages: readonly Message[], policy: PolicyInput, ...reasons: Reason[]) {
  const entries = buildLog(messages.map((message) => ({ message, ...weighText(message) })));
  const context = contextOfLog(entries, START_VERSION);
  const request = requestOver(context, { policy, reasons });
  const plan = planPass(request);
  const settled = settlePass({ ...request, plan, summaries: [] });
  if (settled.kind !== 'version') return { plan, settled, items: [] };
  const version = { ...START_VERSION, number: 1, base: entries.length, segments: [...settled.segments] };
  const { items } = buildContext({ version, head: entries.length, entries, summaries: new Map() });
  // Building the committed version must give the settled context.
  expect(weighItems(items)).toEqual(settled.weight);
  return { plan, settled, items: items.map(({ message }) => message) };
}

describe('masks (placeholders for old tool results)', () => {
  const long = 'x'.repeat(4_000);
  const talk = [
    user('Go.'),
    calls('c1'),
    result('c1', long),
    calls('c2'),
    result('c2', long, { isError: true }),
    says('Done.'),
    user('And?'),
  ];
  const policy = { maskToolResults: true, retentionWindow: 1, maxTokens: 300, minGain: 0 };

  test('compaction replaces old tool results by placeholders, and writes no summary if this is enough', () => {
    const { plan, settled, items } = settle(talk, policy, 'token_threshold');
    expect(plan.kind).toBe('trim');
    expect(settled).toMatchObject({ strategy: 'trim', archived: 0, steps: [{ step: 'mask' }] });
    expect(items).toHaveLength(talk.length);
    expect(items[2]).toEqual(result('c1', '[result masked: read a → ok, 4000 bytes, message 3 of the log]'));
    expect(items[4]).toMatchObject({ toolCallId: 'c2', isError: true, content: expect.stringContaining('→ error,') });
    expect([items[1], items[3]]).toEqual([talk[1], talk[3]]);
  });

  test('a compaction that masks old tool results leaves the retention window and unanswered tool rounds unchanged', () => {
    const { items } = settle(talk, { ...policy, retentionWindow: 3, maxTokens: 1_300 }, 'token_threshold');
    expect(items[2]?.content).toContain('masked');
    expect(items[4]?.content).toBe(long);
    const open = [user('Go.'), calls('c1'), result('c1', long), { ...calls('c2') }];
    expect(settle([...open, user('And?')], policy, 'token_threshold').items[3]).toEqual(open[3]);
  });

  test('each masked tool result with a note is a segment (range of messages) of its own', () => {
    const kindsOf = (messages: readonly Message[]): string[] => {
      const { settled } = settle(messages, policy, 'token_threshold');
      return settled.kind === 'version' ? settled.segments.map(({ kind, from, to }) => `${kind} ${from}-${to}`) : [];
    };
    expect(kindsOf(talk)).toEqual(['raw 1-2', 'masked 3-3', 'raw 4-4', 'masked 5-5', 'raw 6-7']);
  });

  test('the placeholder of a masked tool result never exceeds its fixed token count', () => {
    fc.assert(
      fc.property(fc.nat(2 ** 31), fc.integer({ min: 1, max: 1e9 }), fc.boolean(), (bytes, seq, isError) => {
        const { content } = maskResult({ message: result('c', 'x', { isError }), tokens: 9, bytes }, seq);
        for (const counter of counters) expect(counter.countSync(content) + 4).toBeLessThanOrEqual(MASK_TOKENS);
      }),
    );
  });
});

describe('droppable messages', () => {
  test('compaction removes droppable messages first, and nothing else if that is enough', () => {
    const noise = says('n'.repeat(4_000));
    const talk = [user('Go.'), { ...noise, droppable: true }, says('a'.repeat(400)), user('And?')];
    const { settled, items } = settle(talk, { retentionWindow: 1, maxTokens: 300, minGain: 0 }, 'token_threshold');
    expect(settled).toMatchObject({ steps: [{ step: 'drop' }], archived: 1 });
    expect(items).toEqual([talk[0], talk[2], talk[3]]);
  });
});

describe('clips (shortened messages)', () => {
  const huge = 'word '.repeat(8_000);
  const talk = [user('Go.'), calls('c1'), result('c1', huge)];
  const policy = { retentionWindow: 6, maxTokens: 2_000, minGain: 0 };

  test('a hard compaction clips a large unread tool result to its start, its end and a reference to the log', () => {
    const { settled, items } = settle(talk, policy, 'hard_limit');
    expect(settled).toMatchObject({ strategy: 'trim', isFloorRelaxed: false, steps: [{ step: 'clip' }] });
    expect(items[2]?.content).toMatch(/^\[excerpt of message 3\]\nword .*\n… word .*word $/s);
    expect(settled.kind === 'version' && settled.tokensAfter).toBeLessThanOrEqual(2_000);
  });

  test('a soft compaction never clips messages of the retention window', () => {
    expect(settle(talk, policy, 'token_threshold').settled.kind).toBe('infeasible');
  });

  test('clipping never changes pinned messages, the last user message or unanswered tool rounds', () => {
    for (const fixed of [
      [user('Go.'), user(huge)],
      [user('Go.'), { ...says(huge), pinned: true }, user('And?')],
      [user('Go.'), calls('c1', JSON.stringify({ text: huge }))],
    ]) {
      expect(settle(fixed, policy, 'hard_limit').settled.kind).toBe('infeasible');
    }
  });

  test('clipping shortens the arguments of parallel calls and keeps them valid JSON', () => {
    const texts = Array.from({ length: 10 }, (_, call) =>
      JSON.stringify({ path: `f${call}`, text: 'word '.repeat(300) }),
    );
    const toolCalls = texts.map((text, call) => ({ id: `c${call}`, name: 'write', arguments: text }));
    const round = [says('Go.'), { ...says(''), toolCalls }, ...toolCalls.map(({ id }) => result(id, 'done'))];
    const { settled, items } = settle([user('Go.'), ...round], { ...policy, maxTokens: 1_000 }, 'hard_limit');
    expect(settled).toMatchObject({ kind: 'version', isFloorRelaxed: false });
    expect(settled.kind === 'version' && settled.tokensAfter).toBeLessThanOrEqual(1_000);
    for (const { arguments: text } of items[2]?.toolCalls ?? []) expect(JSON.parse(text)).toHaveProperty('path');
  });

  test('compaction clips a message from its full text in the log, even if an earlier version clipped it', () => {
    const entries = buildLog(talk.map((message) => ({ message, ...weighText(message) })));
    let version = START_VERSION;
    for (const maxTokens of [4_000, 2_000, 300]) {
      const context = buildContext({ version, head: 3, entries, summaries: new Map() });
      const request = requestOver(context, { policy: { ...policy, maxTokens }, reasons: ['hard_limit'] });
      const settled = settlePass({ ...request, plan: planPass(request), summaries: [] });
      if (settled.kind !== 'version') return expect.unreachable(settled.kind);
      expect(new Set(settled.steps.map(({ step }) => step))).toEqual(new Set(['clip']));
      expect(settled.tokensAfter).toBeLessThanOrEqual(maxTokens);
      version = { ...version, number: version.number + 1, base: 3, segments: [...settled.segments] };
    }
    const { items } = buildContext({ version, head: 3, entries, summaries: new Map() });
    expect(items[2]?.message.content.match(/excerpt of message 3/g)).toHaveLength(1);
    const last = version.segments.at(-1);
    expect(items[2]?.message).toEqual(excerptMessage(result('c1', huge), last?.kind === 'excerpt' ? last.kept : [], 3));
  });

  test('a compaction does not count a message as clipped if no form of that message is short enough', () => {
    const numbers = JSON.stringify({ rows: Array.from({ length: 40_000 }, (_, row) => row) });
    const message = calls('c1', numbers);
    const item = { from: 1, to: 1, message, tokens: 100_000, bytes: 240_000 };
    expect(runToEnd(clipItem(item, 1_000, () => expect.unreachable('weighed')))).toBeUndefined();
  });

  test('clipping tool arguments keeps numbers, keys and blanks byte for byte', () => {
    const long = 'word '.repeat(100);
    const given = `{"id": 12345678901234567890,\t"rate":1.0, "most":1e400,"${long}": [true, "${long}", "\\"${long}\\""]}`;
    const [call] = clipMessage(calls('c1', given), 20, 7).toolCalls ?? [];
    const cut = (text: string) => JSON.stringify(clipMessage(says(text), 20, 7).content);
    const quoted = cut(`"${long}"`);
    expect(call?.arguments).toBe(
      `{"id": 12345678901234567890,\t"rate":1.0, "most":1e400,"${long}": [true, ${cut(long)}, ${quoted}]}`,
    );
    const written = JSON.stringify({ text: 'a"\\'.repeat(300_000), ['k'.repeat(200_000)]: 1 });
    expect(JSON.parse(clipMessage(calls('c1', written), 80, 7).toolCalls?.[0]?.arguments ?? '')).toHaveProperty('text');
  });

  test('clipped tool arguments remain a JSON object with the same keys and no split characters', () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.string(),
          fc.oneof(fc.string({ unit: 'grapheme', minLength: 0, maxLength: 300 }), fc.integer()),
        ),
        fc.string({ unit: 'grapheme', maxLength: 600 }),
        fc.nat(200),
        (given, content, keepChars) => {
          const message: Message = { ...calls('c1', JSON.stringify(given)), content };
          const clipped = clipMessage(message, keepChars, 7);
          const read: unknown = JSON.parse(clipped.toolCalls?.[0]?.arguments ?? '');
          expect(Object.keys(read as object).toSorted()).toEqual(
            Object.keys(JSON.parse(JSON.stringify(given))).toSorted(),
          );
          expect(clipped.content.isWellFormed()).toBe(content.isWellFormed());
          expect(clipMessage(message, keepChars, 7)).toEqual(clipped);
        },
      ),
      { numRuns: 500 },
    );
  });

  test('clipping shortens a message to its target size, or as close to it as the minimum length allows', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1_000, max: 40_000 }), fc.integer({ min: 20, max: 900 }), (chars, target) => {
        const message = says('abcd '.repeat(chars / 5));
        const item = { from: 3, to: 3, message, ...weighText(message) };
        fc.pre(target < item.tokens);
        const made = runToEnd(clipItem(item, target, weighText));
        if (made?.segment?.kind !== 'clipped') return expect.unreachable('not clipped');
        if (made.segment.keepChars > 40) expect(made.tokens).toBeLessThanOrEqual(target);
        expect(made.tokens).toBeLessThan(item.tokens);
        expect(weighText(made.message)).toEqual({ tokens: made.tokens, bytes: made.bytes });
      }),
    );
  });
});

describe('the settling of a plan', () => {
  test('settling a compaction plan skips a summary if its range now contains only a part of a tool round', () => {
    const drop = { droppable: true };
    const filler = 'word '.repeat(400);
    const round = { call: { ...calls('c1'), ...drop }, result: result('c1', 'x', drop) };
    const talk = [
      user('Go.'),
      says(filler),
      round.call,
      says(filler),
      user('And?'),
      round.result,
      says('a'),
      says('b'),
    ];
    const entries = buildLog(talk.map((message) => ({ message, ...weighText(message) })));
    const raw = (from: number, to: number) => ({ kind: 'raw' as const, from, to, weight: { tokens: 0, bytes: 0 } });
    const policy = { retentionWindow: 2, minGain: 0, turnThreshold: 1 };
    const requestAt = (version: Version) =>
      requestOver(buildContext({ version, head: 8, entries, summaries: new Map() }), {
        policy,
        reasons: ['turn_threshold'],
      });
    const before = { ...START_VERSION, number: 1, base: 8, segments: [raw(1, 8)] };
    const plan = planPass(requestAt(before));
    expect(plan.sequences).toMatchObject([{ from: 2, to: 4 }]);
    const weight = { tokens: 20, bytes: 80 };
    const summary = { range: { from: 2, to: 4 }, summaryKey: 'k', weight, depth: 1, model: 'test' };
    const whole = settlePass({ ...requestAt(before), plan, summaries: [summary] });
    expect(whole).toMatchObject({ kind: 'version', summaryKeys: ['k'] });
    const evicted = { ...raw(7, 8), kind: 'evicted' as const };
    const shorter = requestAt({ ...before, number: 2, segments: [raw(1, 6), evicted] });
    expect(settlePass({ ...shorter, plan, summaries: [summary] })).toEqual({ kind: 'none' });
  });
});

describe('pictures', () => {
  const picture = { type: 'image_url', image_url: { url: 'https://x.test/a.png' } };
  const shows = (message: Message): Message => ({ ...message, parts: [picture, picture] });
  const talk = (...shown: readonly number[]): Message[] =>
    [
      user('One'),
      says('Yes.'),
      calls('a'),
      result('a', 'found'),
      says('So.'),
      user('Two'),
      says('No.'),
      user('Now'),
    ].map((message, index) => (shown.includes(index) ? shows(message) : message));
  const masks = (messages: readonly Message[], ...reasons: Reason[]): string[] =>
    settle(messages, { maxTokens: 10_000, retentionWindow: 3, keepFirstUser: false }, ...reasons)
      .items.filter(({ content }) => content.includes('pictures masked'))
      .map(({ content }) => content);

  test('a pass after an overflow masks old pictures, but not those of the last user message and of messages that must stay', () => {
    expect(masks(talk(0, 3, 5, 7), 'overflow')).toEqual([
      'One\n[2 pictures masked, message 1 of the log]',
      'found\n[2 pictures masked, message 4 of the log]',
    ]);
  });

  test('a pass after an overflow masks pictures of messages that must stay if no others are left, but never those of the last user message', () => {
    expect(masks(talk(5, 7), 'overflow')).toEqual(['Two\n[2 pictures masked, message 6 of the log]']);
    expect(masks(talk(7), 'overflow')).toEqual([]);
  });

  test('a pass for another reason than an overflow keeps all pictures', () => {
    expect(masks(talk(0, 3, 5, 7), 'hard_limit')).toEqual([]);
  });
});

import * as fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { clipItem, clipMessage } from '../../src/domain/compaction/clip.ts';
import { MASK_TOKENS, maskResult } from '../../src/domain/compaction/mask.ts';
import { planPass } from '../../src/domain/compaction/plan.ts';
import { settlePass } from '../../src/domain/compaction/settle.ts';
import type { Reason } from '../../src/domain/compaction/thresholds.ts';
import { buildContext, contextOfLog, weighItems } from '../../src/domain/context.ts';
import { buildLog } from '../../src/domain/log.ts';
import type { Message } from '../../src/domain/message.ts';
import type { PolicyInput } from '../../src/domain/policy.ts';
import { START_VERSION } from '../../src/domain/version.ts';
import { loadTokenCounter, type TokenCounter } from '../../src/tokens/token-counter.ts';
import { requestOver, weighText } from './passes.ts';

let counters: readonly TokenCounter[];

beforeAll(async () => {
  counters = await Promise.all([loadTokenCounter('o200k_base'), loadTokenCounter('cl100k_base')]);
});

const user = (content: string, more: Partial<Message> = {}): Message => ({ role: 'user', content, ...more });
const says = (content: string): Message => ({ role: 'assistant', content });
const calls = (id: string, given = '{"path":"a"}'): Message => ({
  role: 'assistant',
  content: '',
  toolCalls: [{ id, name: 'read', arguments: given }],
});
const result = (toolCallId: string, content: string, more: Partial<Message> = {}): Message => ({
  role: 'tool',
  content,
  toolCallId,
  ...more,
});

function settle(messages: readonly Message[], policy: PolicyInput, ...reasons: Reason[]) {
  const entries = buildLog(messages.map((message) => ({ message, ...weighText(message) })));
  const context = contextOfLog(entries, START_VERSION);
  const request = requestOver(context, { policy, reasons });
  const plan = planPass(request);
  const settled = settlePass({ ...request, plan, summaries: [] });
  if (settled.kind !== 'version') return { plan, settled, items: [] };
  const version = { ...START_VERSION, number: 1, base: entries.length, segments: [...settled.segments] };
  const { items } = buildContext({ version, head: entries.length, entries, checkpoints: new Map() });
  // What was settled is what is built of the version.
  expect(weighItems(items)).toEqual(settled.weight);
  return { plan, settled, items: items.map(({ message }) => message) };
}

describe('masks', () => {
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

  test('take the place of old results: calls, ids and error marks stay; nothing is summarized where that is enough', () => {
    const { plan, settled, items } = settle(talk, policy, 'token_threshold');
    expect(plan.kind).toBe('trim');
    expect(settled).toMatchObject({ strategy: 'trim', archived: 0, steps: [{ step: 'mask' }] });
    expect(items).toHaveLength(talk.length);
    expect(items[2]).toEqual(result('c1', '[result masked: done, 4000 bytes, message 3 of the log]'));
    expect(items[4]).toMatchObject({ toolCallId: 'c2', isError: true, content: expect.stringContaining('failed') });
    expect([items[1], items[3]]).toEqual([talk[1], talk[3]]);
  });

  test('leave the retention window and an open round alone', () => {
    const { items } = settle(talk, { ...policy, retentionWindow: 3, maxTokens: 1_300 }, 'token_threshold');
    expect(items[2]?.content).toContain('masked');
    expect(items[4]?.content).toBe(long);
    const open = [user('Go.'), calls('c1'), result('c1', long), { ...calls('c2') }];
    expect(settle([...open, user('And?')], policy, 'token_threshold').items[3]).toEqual(open[3]);
  });

  test('are one segment over a stretch of rounds', () => {
    const { settled } = settle(talk, policy, 'token_threshold');
    const kinds =
      settled.kind === 'version' ? settled.segments.map(({ kind, from, to }) => `${kind} ${from}-${to}`) : [];
    expect(kinds).toEqual(['raw 1-2', 'masked 3-7']);
  });

  test('never count more than they are weighed with', () => {
    fc.assert(
      fc.property(fc.nat(2 ** 31), fc.integer({ min: 1, max: 1e9 }), fc.boolean(), (bytes, seq, isError) => {
        const { content } = maskResult({ message: result('c', 'x', { isError }), tokens: 9, bytes }, seq);
        for (const counter of counters) expect(counter.countSync(content) + 4).toBeLessThanOrEqual(MASK_TOKENS);
      }),
    );
  });
});

describe('what may be dropped', () => {
  test('goes first, and alone where that is enough', () => {
    const noise = says('n'.repeat(4_000));
    const talk = [user('Go.'), { ...noise, droppable: true }, says('a'.repeat(400)), user('And?')];
    const { settled, items } = settle(talk, { retentionWindow: 1, maxTokens: 300, minGain: 0 }, 'token_threshold');
    expect(settled).toMatchObject({ steps: [{ step: 'drop' }], archived: 1 });
    expect(items).toEqual([talk[0], talk[2], talk[3]]);
  });
});

describe('clips', () => {
  const huge = 'word '.repeat(8_000);
  const talk = [user('Go.'), calls('c1'), result('c1', huge)];
  const policy = { retentionWindow: 6, maxTokens: 2_000, minGain: 0 };

  test('a result that the model has not read is cut where it alone is too large: its start, its end and a reference stay', () => {
    const { settled, items } = settle(talk, policy, 'hard_limit');
    expect(settled).toMatchObject({ strategy: 'trim', isFloorRelaxed: false, steps: [{ step: 'clip' }] });
    expect(items[2]?.content).toMatch(/^word .*\n\[\d+ characters left out, message 3 of the log\]\n.*word $/s);
    expect(settled.kind === 'version' && settled.tokensAfter).toBeLessThanOrEqual(2_000);
  });

  test('with soft reasons the floor stays whole', () => {
    expect(settle(talk, policy, 'token_threshold').settled.kind).toBe('infeasible');
  });

  test('never touch pins, the live user message and open rounds', () => {
    for (const fixed of [
      [user('Go.'), user(huge)],
      [user('Go.'), { ...says(huge), pinned: true }, user('And?')],
      [user('Go.'), calls('c1', JSON.stringify({ text: huge }))],
    ]) {
      expect(settle(fixed, policy, 'hard_limit').settled.kind).toBe('infeasible');
    }
  });

  test('keep arguments a JSON object, and no half of a character', () => {
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

  test('come down to their target, or are not made', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1_000, max: 40_000 }), fc.integer({ min: 20, max: 900 }), (chars, target) => {
        const message = says('abcd '.repeat(chars / 5));
        const item = { from: 3, to: 3, message, ...weighText(message) };
        const made = clipItem(item, target, 80, weighText);
        if (made === undefined) return;
        expect(made.tokens).toBeLessThanOrEqual(target);
        expect(weighText(made.message)).toEqual({ tokens: made.tokens, bytes: made.bytes });
      }),
    );
  });
});

describe('the ladder', () => {
  test('each step leaves less than the one before it', () => {
    const texts = fc.string({ minLength: 1, maxLength: 3_000, unit: 'grapheme-ascii' });
    const message = fc.oneof(
      texts.map((text) => [user(text)]),
      texts.map((text) => [{ ...says(text), droppable: true }]),
      fc.tuple(fc.uuid(), texts).map(([id, text]) => [calls(id), result(id, text)]),
      texts.map((text) => [says(text)]),
    );
    const reasons = fc.constantFrom<Reason>('hard_limit', 'token_threshold', 'turn_end', 'manual');
    const max = fc.integer({ min: 100, max: 6_000 });
    fc.assert(
      fc.property(
        fc.array(message, { maxLength: 30 }),
        reasons,
        max,
        fc.boolean(),
        (groups, reason, maxTokens, masks) => {
          const policy = { maxTokens, maskToolResults: masks, retentionWindow: 4, minGain: 0 };
          const talk = [user('Go.'), ...groups.flat(), user('And?')];
          const { settled } = settle(talk, policy, reason);
          if (settled.kind !== 'version') return;
          let before = Number.POSITIVE_INFINITY;
          for (const { tokens } of settled.steps) {
            expect(tokens).toBeLessThan(before);
            before = tokens;
          }
          expect(settled.steps.at(-1)?.tokens).toBe(settled.weight.tokens);
          if (reason === 'manual') expect(settled.tokensAfter).toBeLessThanOrEqual(maxTokens);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});

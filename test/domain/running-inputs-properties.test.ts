import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { buildLog, type Message } from '../../src/domain/message.ts';
import { hasHardReason } from '../../src/domain/pass.ts';
import type { ContextItem } from '../../src/domain/version.ts';
import { START_VERSION } from '../../src/domain/version.ts';
import { countRuns } from '../setup/count-runs.ts';
import { type CommittedPass, contextAfter, isCommitted } from './fates.ts';
import { type PassSetting, type Story, type TakenPass, takePass, weighText } from './passes.ts';

/** A user message, an answer, or a tool call with its result, and the tokens of its text. */
type Said = readonly [kind: 'u' | 'a' | 'r', tokens: number];

function logOf(...said: readonly Said[]): Story {
  const messages = said.flatMap(([kind, tokens], index): Message[] => {
    const content = Array.from({ length: tokens }, (_, word) => `${String.fromCharCode(97 + index)}${word % 90}`).join(
      ' ',
    );
    if (kind !== 'r') return [{ role: kind === 'u' ? 'user' : 'assistant', content }];
    const id = `c${index}`;
    const toolCalls = [{ id, name: 'read', arguments: `{"n":${index}}` }];
    return [
      { role: 'assistant', content: '', toolCalls },
      { role: 'tool', content, toolCallId: id },
    ];
  });
  const entries = buildLog(messages.map((message) => ({ message, ...weighText(message) })));
  return { version: START_VERSION, entries, summaries: new Map() };
}

function seqsOf({ entries }: Story, role: Message['role']): number[] {
  return entries.filter(({ message }) => message.role === role).map(({ seq }) => seq);
}

const sizes = fc.oneof(
  fc.integer({ min: 1, max: 60 }),
  fc.integer({ min: 40, max: 300 }),
  fc.integer({ min: 200, max: 1_200 }),
);
const before = fc.array(fc.tuple(fc.constantFrom<Said[0]>('u', 'a', 'r', 'r'), sizes), { maxLength: 8 });
const during = fc.array(fc.tuple(fc.constantFrom<Said[0]>('r', 'r', 'r', 'u'), sizes), { minLength: 1, maxLength: 6 });

const settings: fc.Arbitrary<PassSetting> = fc.record({
  policy: fc.record({
    maxTokens: fc.integer({ min: 200, max: 1_500 }),
    retentionWindow: fc.nat(8),
    keepFirstUser: fc.boolean(),
    scope: fc.constantFrom('sequences' as const, 'prefix' as const),
    minSequenceTokens: fc.nat(200),
    keepPrefix: fc.constantFrom(0, 0, 0.4),
  }),
  reasons: fc.constantFrom(['hard_limit' as const], ['overflow' as const], ['manual' as const], ['ratio' as const]),
  model: fc.constant({ windowTokens: 6_000, outputCapTokens: 0, upperBoundFactor: 1 }),
});

/** A log with a running turn, and the settings of two passes during the turn. */
const turns = fc.record({
  older: before,
  question: sizes,
  steps: during,
  settings: fc.array(settings, { minLength: 2, maxLength: 2 }),
  share: fc.constantFrom(0.1, 0.4, undefined),
});

type Turn = typeof turns extends fc.Arbitrary<infer Value> ? Value : never;

function passesOf({ older, question, steps, settings: [first = {}, second = {}], share }: Turn): TakenPass[] {
  const whole = logOf(...older, ['u', question], ...steps);
  const inputs = seqsOf(whole, 'user').slice(-1 - steps.filter(([kind]) => kind === 'u').length);
  const summarize = ({ tokens }: { readonly tokens: number }): number | undefined =>
    share && Math.floor(tokens * share);
  // The first pass runs after the first step of the turn, and the second at the end of the log.
  const head = (inputs[0] ?? 0) + (steps[0]?.[0] === 'u' ? 1 : 2);
  const begun = { ...whole, entries: whole.entries.slice(0, head) };
  const one = takePass(begun, { ...first, inputs, summarize });
  return [one, takePass({ ...one.story, entries: whole.entries }, { ...second, inputs, summarize })];
}

/** Counts the inputs that stood whole before a pass, by what the pass made of them. */
const seen = { whole: 0, cut: 0 };

function forEachVersion(check: (pass: CommittedPass, inputs: readonly ContextItem[]) => void): void {
  fc.assert(
    fc.property(turns, (turn) => {
      for (const pass of passesOf(turn).filter(isCommitted)) {
        const { items, inputs = [] } = pass.request.context;
        check(
          pass,
          items.filter(({ from, segment }) => segment === undefined && inputs.includes(from)),
        );
      }
    }),
    { numRuns: countRuns(2_000) },
  );
}

function isWhole(pass: CommittedPass, { from, message }: ContextItem): boolean {
  const after = contextAfter(pass).items.find((item) => item.from === from);
  return after !== undefined && JSON.stringify(after.message) === JSON.stringify(message);
}

describe('the inputs of the running turn, in any log', () => {
  test('every input of the running turn stays byte for byte, unless nothing older is left', () => {
    forEachVersion((pass, inputs) => {
      const cut = inputs.filter((item) => !isWhole(pass, item));
      seen[cut.length === 0 ? 'whole' : 'cut'] += inputs.length;
      if (cut.length === 0) return;
      const [first = 0] = pass.request.context.inputs ?? [];
      expect(contextAfter(pass).items.filter(({ from }) => from < first)).toStrictEqual([]);
    });
    expect(seen.whole).toBeGreaterThan(50);
    expect(seen.cut).toBeGreaterThan(10);
  });

  test('only a hard pass shortens an input of the running turn, no pass removes one, and the version reports the shortening', () => {
    forEachVersion((pass, inputs) => {
      for (const input of inputs) {
        if (isWhole(pass, input)) continue;
        const after = contextAfter(pass).items.find(({ from }) => from === input.from);
        expect(['excerpt', 'clipped']).toContain(after?.segment?.kind);
        expect(hasHardReason(pass.request.reasons)).toBe(true);
        expect(pass.settlement.isFloorRelaxed).toBe(true);
      }
    });
  });
});

function takeHardPass(story: Story, inputs: readonly number[]): CommittedPass {
  const setting: PassSetting = {
    policy: { maxTokens: 1_000, retentionWindow: 4 },
    reasons: ['overflow'],
    model: { windowTokens: 4_000, outputCapTokens: 0, upperBoundFactor: 1 },
    inputs,
  };
  const taken = takePass(story, { ...setting, summarize: () => undefined });
  if (!isCommitted(taken)) throw new Error(`the pass ended as ${taken.settlement?.kind ?? taken.plan.kind}`);
  return taken;
}

function wholeSeqs(pass: CommittedPass): number[] {
  return contextAfter(pass).items.flatMap(({ from, segment }) => (segment === undefined ? [from] : []));
}

test('an input of the running turn that fits the budget stays whole when large results after the input do not fit', () => {
  const pass = takeHardPass(logOf(['u', 200], ['a', 200], ['u', 500], ['r', 900], ['r', 900]), [3]);
  expect(wholeSeqs(pass)).toContain(3);
  expect(wholeSeqs(pass)).not.toContain(7);
});

test('an input of the running turn that alone exceeds the budget keeps at least 60 % of the budget, after everything older has left', () => {
  const pass = takeHardPass(logOf(['u', 200], ['a', 200], ['u', 1_500], ['r', 300]), [3]);
  const [input] = contextAfter(pass).items;
  expect(input).toMatchObject({ from: 3, segment: { kind: 'excerpt' } });
  expect(input?.message.content).toMatch(/^\[excerpt of message 3\]/);
  expect(input?.tokens).toBeGreaterThanOrEqual(600);
  expect(pass.settlement.isFloorRelaxed).toBe(true);
});

test('each message that steered the running turn stays whole like the first message of the turn', () => {
  const story = logOf(['u', 200], ['a', 200], ['u', 300], ['r', 900], ['u', 300], ['r', 900]);
  expect(wholeSeqs(takeHardPass(story, [3, 6]))).toEqual(expect.arrayContaining([3, 6]));
});

test('an input of the running turn keeps its picture when a pass after an overflow masks pictures', () => {
  const story = logOf(['u', 200], ['a', 200], ['u', 300], ['r', 900], ['u', 30], ['r', 900]);
  const parts = [{ kind: 'image' as const, mediaType: 'image/png', data: 'AAAA' }];
  const entries = story.entries.map((entry) => {
    const message = [1, 3].includes(entry.seq) ? { ...entry.message, parts } : entry.message;
    return { ...entry, message, ...weighText(message) };
  });
  const { items } = contextAfter(takeHardPass({ ...story, entries }, [3, 6]));
  expect(items.filter(({ message }) => message.parts !== undefined).map(({ from }) => from)).toStrictEqual([3]);
});

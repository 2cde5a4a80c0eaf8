import { expect, test } from 'vitest';
import { PLACEHOLDER } from '../../../src/compaction/budget.ts';
import type { SettledContext } from '../../../src/compaction/settle.ts';
import { runToEnd } from '../../../src/domain/interruptible.ts';
import { buildLog, type Message } from '../../../src/domain/message.ts';
import type { ModelProfile } from '../../../src/domain/model.ts';
import { type Segment, START_VERSION, weighVersion } from '../../../src/domain/version.ts';
import { SCRIPTED_PROFILE, scriptedModel } from '../../../src/providers/scripted.ts';
import { loadTokenCounter } from '../../../src/wire/tokens/token-counter.ts';
import { checkVersion } from '../../../src/workers/compaction/check-version.ts';
import { prepareAgent } from '../../../src/workers/prepared-agent.ts';
import { settledLine } from '../../domain/passes.ts';

const ask: Message = { role: 'user', content: 'Read it.' };
const done: Message = { role: 'assistant', content: 'Done.' };
const calls = (id: string, raw?: object): Message => ({
  role: 'assistant',
  content: '',
  toolCalls: [{ id, name: 'read', arguments: '{}' }],
  ...(raw === undefined ? {} : { raw }),
});
const result = (toolCallId: string): Message => ({ role: 'tool', content: 'found', toolCallId });
const WEIGHT = { tokens: 10, bytes: 40 };
const raw = (from: number, to: number): Segment => ({ kind: 'raw', from, to, weight: WEIGHT });
const evicted = (from: number, to: number): Segment => ({ kind: 'evicted', from, to, weight: WEIGHT });

/** Returns the rules that a version of the context with these segments would break. */
async function check(
  messages: readonly Message[],
  segments: readonly Segment[],
  {
    weight = WEIGHT,
    pins = [],
    ...profile
  }: Partial<ModelProfile> & { weight?: SettledContext['weight']; pins?: string[] } = {},
): Promise<string[]> {
  const model = scriptedModel({ profile: { ...SCRIPTED_PROFILE, ...profile }, steps: [] });
  const agent = { name: 'guide', system: 'Be brief.', tools: [], policy: { pins }, model };
  const prepared = await prepareAgent(agent, {}, { loadCounter: loadTokenCounter });
  const entries = buildLog(messages.map((message) => ({ message, ...WEIGHT })));
  const source = { version: START_VERSION, head: entries.length, entries, summaries: new Map() };
  const settled = { kind: 'version', segments, weight } as unknown as SettledContext;
  return runToEnd(checkVersion(prepared, source, settled, new Map())).map(({ rule }) => rule);
}

const openRound = [ask, done, ask, calls('a')];

test('checkVersion accepts a valid context, with or without unanswered tool calls (an open tool round)', async () => {
  expect(await check(openRound, [evicted(1, 2), raw(3, 4)])).toEqual([]);
  expect(await check(openRound, [evicted(1, 2), raw(3, 4)], { format: 'openai-chat' })).toEqual([]);
});

test('the rule for open tool rounds (X12) refuses a new context version that changes the messages of unanswered tool calls', async () => {
  expect(await check(openRound, [raw(1, 3), evicted(4, 4)])).toEqual(['X12']);
});

test('the rule for pinned texts (X13) refuses a new version of the context that lacks or changes a pinned message', async () => {
  const pinned: Message = { role: 'user', content: 'My account is 4711.\n"Never" bill another. 😀', pinned: true };
  const talk = [ask, done, pinned, done, ask];
  expect(await check(talk, [evicted(1, 2), raw(3, 5)], { pins: ['Answer in French.\nAlways.'] })).toEqual([]);
  expect(await check(talk, [evicted(1, 3), raw(4, 5)])).toEqual(['X13']);
  const clipped: Segment = { kind: 'clipped', from: 3, to: 3, weight: WEIGHT, keepChars: 10 };
  expect(await check(talk, [raw(1, 2), clipped, raw(4, 5)])).toEqual(['X13']);
});

test.each([undefined, 'anthropic', 'openai-chat', 'openai-responses'] as const)(
  'the rule for pinned texts (X13) finds each pinned text in a request of format %s, even if the format escapes characters',
  async (format) => {
    const odd = ' \u2028"\\<summary>\t\u0000😀 \ud800 ';
    const pinned = [ask, calls('a'), result('a'), done, { ...ask, content: odd, parts: [] }];
    const talk = pinned.map((message): Message => ({ ...message, pinned: true }));
    expect(await check(talk, [raw(1, 5)], { pins: [odd.toWellFormed()], ...(format && { format }) })).toEqual([]);
  },
);

test('the rule for pinned texts (X13) accepts a pinned summary with escaped tags, and a pinned answer of several blocks', async () => {
  const summary: Message = { role: 'summary', content: 'It said <summary> and </summary>.', pinned: true };
  const items = ['First.', '\n', 'Second.'].map((text) => ({ type: 'text', text }));
  const raw13 = { format: 'anthropic', model: SCRIPTED_PROFILE.id, items };
  const answer: Message = { role: 'assistant', content: 'First.\nSecond.', raw: raw13, pinned: true };
  expect(await check([ask, summary, answer, ask], [raw(1, 4)])).toEqual([]);
  expect(await check([ask, summary, answer, ask], [raw(1, 4)], { format: 'anthropic' })).toEqual([]);
});

test('the size rule (X9) refuses a request whose upper bound of tokens exceeds the window, or whose bytes exceed the provider’s limit', async () => {
  const { windowTokens } = SCRIPTED_PROFILE;
  const weight = { tokens: windowTokens, bytes: 40 };
  expect(new Set(await check([ask, done], [raw(1, 2)], { weight }))).toEqual(new Set(['X9']));
  expect(await check([ask, done], [raw(1, 2)], { format: 'anthropic', maxRequestBytes: 100 })).toEqual(['X9']);
  expect(await check([ask, done], [raw(1, 2)], { format: 'anthropic', maxRequestBytes: 1_000 })).toEqual([]);
});

test('the size rule (X9) counts the placeholder before a context that starts with an answer', async () => {
  const policy = { retentionWindow: 0, keepFirstUser: false, strategy: { retain: 2 } };
  const settled = settledLine('a:40! u:10 a:20 u:10', { policy });
  const [{ segments }, weight] = [settled, weighVersion(settled)];
  const talk = [{ ...done, pinned: true }, ask, done, ask];
  const { outputCapTokens, upperBoundFactor } = SCRIPTED_PROFILE;
  const checkIn = (usable: number) => check(talk, segments, { windowTokens: usable + outputCapTokens, weight });
  expect([outputCapTokens <= 8_192, upperBoundFactor]).toEqual([true, 1]);
  // 3 system + 3 framing + 50 messages.
  const least = 6 + 50 + PLACEHOLDER.tokens;
  expect(await checkIn(least)).toEqual([]);
  expect(new Set(await checkIn(least - 1))).toEqual(new Set(['X9']));
});

test('the size rule (X9) refuses more messages than the provider accepts, but sets no limit for a model without a known format', async () => {
  const talk = Array.from({ length: 1_100 }, () => [ask, done]).flat();
  const kept = [raw(1, talk.length)];
  expect(await check(talk, kept, { format: 'openai-chat' })).toEqual(['X9']);
  expect(await check(talk, kept)).toEqual([]);
});

test('the rule for alternating roles (C5) accepts a request rendered for a template that requires strict alternation', async () => {
  const strict = { format: 'openai-chat', renderOptions: { isStrict: true } } as const;
  const talk = [ask, calls('a'), result('a'), ask, done, done];
  expect(await check(talk, [raw(1, 6)], strict)).toEqual([]);
  expect(await check([ask, calls('a'), ask], [raw(1, 3)], strict)).toEqual([]);
});

test('the thinking rules (A7, A8) accept unanswered tool calls without the thinking before them if thinking is switched off', async () => {
  const items = [
    { type: 'thinking', thinking: 'hm', signature: 's=' },
    { type: 'tool_use', id: 'a', name: 'read', input: {} },
  ];
  const thought = { format: 'anthropic', model: SCRIPTED_PROFILE.id, version: 0, items };
  const loop = [ask, done, ask, calls('a', thought), result('a')];
  const renderOptions = { thinking: { type: 'enabled', budget_tokens: 1_024 } };
  expect(await check(loop, [evicted(1, 2), raw(3, 5)], { format: 'anthropic', renderOptions })).toEqual([]);
});

import { beforeAll, describe, expect, test } from 'vitest';
import { buildContext, buildInSlices, type Context } from '../../src/compaction/context.ts';
import { diffInSlices } from '../../src/compaction/diff.ts';
import { planInSlices } from '../../src/compaction/plan.ts';
import { canRebase } from '../../src/compaction/rebase.ts';
import { evictNewer } from '../../src/compaction/restore.ts';
import { settleInSlices } from '../../src/compaction/settle.ts';
import type { ContextSource } from '../../src/domain/context-source.ts';
import { type Interruptible, runToEnd } from '../../src/domain/interruptible.ts';
import { resolveLimits } from '../../src/domain/limits.ts';
import { buildLog, type Message } from '../../src/domain/message.ts';
import type { Reason } from '../../src/domain/pass.ts';
import type { PassPlan } from '../../src/domain/pass-plan.ts';
import { completePolicy, type PolicyInput } from '../../src/domain/policy.ts';
import { WIRE_FORMATS } from '../../src/domain/raw-items.ts';
import { NO_OVERHEAD } from '../../src/domain/size.ts';
import { type Segment, START_VERSION, type Version } from '../../src/domain/version.ts';
import { wireFormats } from '../../src/wire/formats.ts';
import { eventLoopShare } from '../../src/wire/tokens/event-loop-share.ts';
import { holdsShortly } from '../setup/held-loop.ts';

const MESSAGES = 100_000;
/** A request with more messages than this has more tokens than the window of any model. */
const SENT_MESSAGES = 20_000;
const ROUNDS_A_TURN = 3;

let source: ContextSource;
let context: Context;

beforeAll(() => {
  const entries = buildLog(longHistory().map((message) => ({ message, tokens: 50, bytes: 200 })));
  source = { version: START_VERSION, head: entries.length, entries, summaries: new Map() };
  context = buildContext(source);
});

function longHistory(): Message[] {
  const messages: Message[] = [];
  for (let turn = 1; messages.length < MESSAGES; turn += 1) {
    messages.push({ role: 'user', content: `question ${turn}` });
    for (let round = 0; round < ROUNDS_A_TURN; round += 1) {
      const id = `c${messages.length + 1}_0`;
      const toolCalls = [{ id, name: 'read', arguments: '{"path":"src/a.ts"}' }];
      messages.push({ role: 'assistant', content: '', toolCalls });
      messages.push({ role: 'tool', content: 'content of the file', toolCallId: id });
    }
    messages.push({ role: 'assistant', content: `answer ${turn}` });
  }
  return messages;
}

/** Runs the computation in slices beside others, as workers do. */
async function expectHeldShort<Result>(work: () => Interruptible<Result>): Promise<Result> {
  let result: Result | undefined;
  const held = await holdsShortly(async () => {
    result = await eventLoopShare.run(work());
  });
  expect(held).toMatchObject({ isShort: true });
  return result as Result;
}

const PASSES: readonly (readonly [name: string, policy: PolicyInput, reason: Reason])[] = [
  ['summaries', { maxTokens: 50_000 }, 'ratio'],
  ['masks', { maxTokens: 50_000, maskToolResults: true }, 'hard_limit'],
  ['an eviction', { maxTokens: 5_000, minSequenceMessages: MESSAGES }, 'hard_limit'],
];

describe(`a conversation of ${MESSAGES} messages blocks the event loop for less than the limit`, () => {
  test('building the context of 100,000 messages blocks the event loop for less than the limit', async () => {
    const built = await expectHeldShort(() => buildInSlices(source));
    expect(built.items).toHaveLength(context.items.length);
  });

  test.each(PASSES)(
    'planning and settling a compaction with %s over 100,000 messages blocks the event loop for less than the limit',
    async (_name, given, reason) => {
      const policy = completePolicy(given);
      const request = {
        context,
        policy,
        limits: resolveLimits(policy),
        overhead: NO_OVERHEAD,
        reasons: [reason],
        weigh: () => ({ tokens: 50, bytes: 200 }),
        firstUserSeq: 1,
      };
      const plan = await expectHeldShort(() => planInSlices(request));
      expect(plan).toEqual(runToEnd(planInSlices(request)));
      const summaries = plan.sequences.map(({ from, to, tokens }) => {
        const weight = { tokens: Math.floor(tokens / 4), bytes: tokens };
        return { range: { from, to }, summaryKey: `${from}-${to}`, weight, depth: 1, model: 'test' };
      });
      const settled = await expectHeldShort(() => settleInSlices({ ...request, plan, summaries }));
      expect(settled).toEqual(runToEnd(settleInSlices({ ...request, plan, summaries })));
    },
  );
});

describe(`a request of ${SENT_MESSAGES} messages blocks the event loop for less than the limit`, () => {
  test.each(WIRE_FORMATS)(
    'rendering and checking 20,000 messages as %s blocks the event loop for less than the limit',
    async (format) => {
      const { renderInSlices, validateInSlices } = wireFormats[format];
      const messages = context.items.slice(0, SENT_MESSAGES).map(({ message }) => message);
      const request = { model: 'm', system: 'Be brief.', tools: [], messages, maxOutputTokens: 100 };
      const { body } = await expectHeldShort(() => renderInSlices(request));
      const violations = await expectHeldShort(() => validateInSlices(body, { isProbed: true, isUncapped: true }));
      expect(violations).toEqual([]);
    },
  );
});

describe(`alternating versions of ${MESSAGES} messages block the event loop for less than the limit`, () => {
  /** Every second message is evicted. The version at the other offset evicts the others. */
  const versionOf = (number: number, offset: number): Version => ({
    ...START_VERSION,
    number,
    base: MESSAGES,
    segments: Array.from({ length: MESSAGES }, (_, index): Segment => {
      const kind = index % 2 === offset ? 'evicted' : 'raw';
      return { kind, from: index + 1, to: index + 1, weight: { tokens: 1, bytes: 1 } };
    }),
  });
  const [one, other] = [versionOf(1, 0), versionOf(2, 1)];

  test('comparing two versions of 100,000 segments blocks the event loop for less than the limit', async () => {
    expect(await expectHeldShort(() => diffInSlices(one, other))).toHaveLength(MESSAGES);
  });

  test('a restore that drops 100,000 newer messages blocks the event loop for less than the limit', async () => {
    const segments = await expectHeldShort(() => evictNewer(source.entries));
    expect(segments).toMatchObject([{ kind: 'evicted', from: 1, to: source.head }]);
  });

  test('comparing a compaction plan of 10,000 ranges with a version blocks the event loop for less than the limit', async () => {
    const sequences = Array.from({ length: 10_000 }, (_, index) => ({
      from: index * 9 + 1,
      to: index * 9 + 4,
      tokens: 4,
    }));
    const plan = { sequences, evict: [], head: MESSAGES } as unknown as PassPlan;
    expect(await holdsShortly(() => canRebase(plan, one, { ...one, number: 2 }))).toMatchObject({ isShort: true });
    expect(canRebase(plan, one, other)).toBe(false);
  });
});

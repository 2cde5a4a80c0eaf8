import { beforeAll, describe, expect, test } from 'vitest';
import type { Message } from '../../src/domain/message.ts';
import type { ContextItem } from '../../src/domain/version.ts';
import { loadTokenCounter } from '../../src/wire/tokens/token-counter.ts';
import type { TrialOutcome } from '../../src/workers/compaction/trial-pass.ts';
import { callTools } from '../domain/messages.ts';
import { findBreaches } from './checks.ts';
import { findEndBreaches } from './ends.ts';
import { play, type Scenario } from './play.ts';
import type { SeenPass } from './seen-pass.ts';

const SOFT: Scenario = {
  chunks: [
    [
      { role: 'system', content: 'Log of the shop.' },
      { role: 'user', content: 'Mind the budget.', pinned: true },
      { role: 'assistant', content: `Yes. ${'I do. '.repeat(300)}` },
      { role: 'user', content: 'Read both.' },
      callTools('a', 'b'),
      { role: 'tool', content: 'found', toolCallId: 'a' },
      { role: 'tool', content: 'nothing', toolCallId: 'b' },
      { role: 'user', content: 'And now?' },
      callTools('c'),
    ],
  ],
  policy: { maxTokens: 400, tokenThreshold: 500, retentionWindow: 6, pins: ['Be kind.'] },
  maxRequestBytes: undefined,
  upperBoundFactor: 1,
  reasons: [['turn_end']],
  summarizer: 'failing',
  isBacked: false,
};

/** A hard compaction pass that must reduce the retention window: it shortens the older answer there. */
const HARD: Scenario = {
  ...SOFT,
  chunks: [
    [
      { role: 'user', content: 'Begin.' },
      { role: 'assistant', content: 'One. '.repeat(100) },
      { role: 'assistant', content: 'Two. '.repeat(100) },
      { role: 'user', content: 'Read it.' },
      callTools('a'),
      { role: 'tool', content: 'found', toolCallId: 'a' },
    ],
  ],
  policy: { maxTokens: 300, tokenThreshold: 5_000, retentionWindow: 6 },
  reasons: [['manual']],
};

let soft: SeenPass;
let hard: SeenPass;

beforeAll(async () => {
  const counter = await loadTokenCounter('o200k_base');
  const playOne = async (scenario: Scenario): Promise<SeenPass> => {
    const played = await play(scenario, counter);
    expect(played?.breaches).toEqual([]);
    return played?.versions[0] as SeenPass;
  };
  soft = await playOne(SOFT);
  hard = await playOne(HARD);
});

test('the checks for random compaction passes find no fault in unmodified passes', () => {
  expect([...findBreaches(soft), ...findBreaches(hard)]).toEqual([]);
  expect(soft.after.items.map(({ from }) => from)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(hard.after.items.map(({ from, segment }) => `${from} ${segment?.kind ?? 'raw'}`)).toEqual([
    '1 raw',
    '2 excerpt',
    '3 raw',
    '4 raw',
    '5 raw',
    '6 raw',
  ]);
});

function withItems(pass: SeenPass, change: (items: readonly ContextItem[]) => readonly ContextItem[]): SeenPass {
  return { ...pass, after: { ...pass.after, items: [...change(pass.after.items)] } };
}

function without(pass: SeenPass, ...seqs: number[]): SeenPass {
  return withItems(pass, (items) => items.filter(({ from }) => !seqs.includes(from)));
}

function changed(pass: SeenPass, seq: number, message: Partial<Message>, others: Partial<ContextItem> = {}): SeenPass {
  return withItems(pass, (items) =>
    items.map((item) => (item.from === seq ? { ...item, ...others, message: { ...item.message, ...message } } : item)),
  );
}

function settled(pass: SeenPass, changes: Partial<SeenPass['outcome']['settled']>): SeenPass {
  return { ...pass, outcome: { ...pass.outcome, settled: { ...pass.outcome.settled, ...changes } } };
}

function limited(pass: SeenPass, maxTokens: number): SeenPass {
  return { ...pass, prepared: { ...pass.prepared, limits: { ...pass.prepared.limits, maxTokens } } };
}

function masked(pass: SeenPass, seq: number, message: Partial<Message>): SeenPass {
  const weight = { tokens: 1, bytes: 1 };
  return changed(pass, seq, message, { segment: { kind: 'masked', from: seq, to: seq, weight } });
}

/** Removes the model's later messages, so that the tool results count as unread. */
function unread({ before, after, ...pass }: SeenPass): SeenPass {
  const until = ({ from }: ContextItem): boolean => from < 9;
  return {
    ...pass,
    before: { ...before, items: before.items.filter(until) },
    after: { ...after, items: after.items.filter(until) },
  };
}

describe('the compaction checks on a mutated version', () => {
  test.each<[string, () => SeenPass]>([
    [
      'a new version is smaller than the version before it',
      () => settled(soft, { tokensAfter: soft.outcome.settled.tokensBefore }),
    ],
    [
      'a soft compaction pass saves at least minGain',
      () => settled(soft, { tokensAfter: soft.outcome.settled.tokensBefore - 1 }),
    ],
    [
      'each step of a compaction pass makes the context smaller',
      () => settled(soft, { steps: soft.outcome.settled.steps.flatMap((s) => [s, s]) }),
    ],
    [
      'a version has the size that it states',
      () => settled(soft, { tokensAfter: soft.outcome.settled.tokensAfter - 1 }),
    ],
    ['a version has the size that it states', () => without(soft, 4)],
    ['a version is within maxTokens or explains why not', () => limited(settled(soft, { explained: [] }), 10)],
    ['a version is within maxTokens or explains why not', () => settled(soft, { explained: ['retention_floor'] })],
    [
      'a version is within maxTokens or explains why not',
      () => limited(settled(hard, { explained: ['nothing_removable'] }), 10),
    ],
    ['a version exceeds maxTokens only if nothing more may be removed', () => limited(hard, 10)],
    [
      'a version exceeds maxTokens only if nothing more may be removed',
      () => limited({ ...soft, after: soft.before }, 10),
    ],
    ['a version is valid in all wire formats', () => without(soft, 6)],
    ['a version keeps every pinned text unchanged', () => without(soft, 2)],
    ['a version keeps every pinned text unchanged', () => changed(soft, 2, { content: 'Mind it.' })],
    [
      'a version keeps every pinned text unchanged',
      () => ({ ...soft, prepared: { ...soft.prepared, system: 'Be brief.' } }),
    ],
    [
      'a version keeps the first system messages and the last user message that the model has not read',
      () => without(soft, 1),
    ],
    [
      'a hard compaction may clip or summarize the last user message that the model has read, but not remove it',
      () => changed(soft, 8, { content: 'And?' }),
    ],
    ['a version keeps unanswered tool rounds unchanged', () => without(soft, 9)],
    ['a version may clip but not remove tool results that the model has not read', () => without(hard, 5, 6)],
    [
      'a version may clip but not remove tool results that the model has not read',
      () => unread(changed(soft, 7, { content: 'n…' })),
    ],
    ['a version splits no tool round', () => without(soft, 7)],
    ['a version keeps the order of the log', () => withItems(soft, (items) => items.toReversed())],
    [
      'a version adds only summaries and changes only masked or clipped messages',
      () => changed(soft, 6, { content: 'f…' }),
    ],
    [
      'a version adds only summaries and changes only masked or clipped messages',
      () => changed(soft, 4, {}, { from: 3, to: 3 }),
    ],
    [
      'masking or clipping a message keeps its role, call ids and error mark',
      () => masked(soft, 6, { toolCallId: 'b' }),
    ],
    ['masking or clipping a message keeps its role, call ids and error mark', () => masked(soft, 6, { isError: true })],
    ['masking or clipping a message keeps its role, call ids and error mark', () => masked(soft, 5, { toolCalls: [] })],
    ['a version keeps the retention window unless it reports otherwise', () => without(soft, 4)],
    ['a version keeps the retention window unless it reports otherwise', () => changed(soft, 6, { content: 'f…' })],
    [
      'a version keeps the retention window unless it reports otherwise',
      () => settled(without(soft, 4), { isFloorRelaxed: true }),
    ],
    [
      'a version keeps the retention window unless it reports otherwise',
      () => settled(hard, { isFloorRelaxed: false }),
    ],
    [
      'the oldest groups leave the retention window first',
      () => withItems(hard, () => hard.before.items.filter(({ from }) => from !== 3)),
    ],
    [
      'a version reports a reduced retention window exactly if a message of it changed or left',
      () => settled(hard, { isFloorRelaxed: false }),
    ],
    [
      'a version reports a reduced retention window exactly if a message of it changed or left',
      () => settled(soft, { isFloorRelaxed: true }),
    ],
    ['a version states how many messages it archived', () => settled(soft, { archived: 1 })],
  ])('the compaction checks detect a mutated version that breaks "%s"', (name, mutate) => {
    expect(namesOf(findBreaches(mutate()))).toContain(name);
  });
});

describe('the compaction checks on a mutated outcome of a pass', () => {
  const reasons = ['manual'] as const;
  const details = { fixed: 10, pinned: 0, open: 0, floor: 0, max: 300 };

  test.each<[string, TrialOutcome]>([
    ['a compaction pass requested as manual or overflow is never skipped', { kind: 'no_reason', reasons: [] }],
    ['a hard compaction pass above maxTokens never ends as none or no_gain', { kind: 'none', reasons }],
    ['a hard compaction pass above maxTokens never ends as none or no_gain', { kind: 'no_gain', reasons }],
    ['an infeasible compaction pass states a sum above its limit', { kind: 'infeasible', reasons, details }],
    [
      'an infeasible compaction pass states a sum above its limit',
      { kind: 'infeasible', reasons, details: { ...details, fixed: 400, max: 200 } },
    ],
    [
      'a compaction pass is infeasible only if the protected messages alone exceed the limit',
      { kind: 'infeasible', reasons, details: { ...details, fixed: 400 } },
    ],
    [
      'a version is refused only for the bytes of a small request limit',
      { kind: 'refused', reasons, refusal: { codes: ['X9'], message: '' } },
    ],
  ])('the compaction checks detect a mutated outcome that breaks "%s"', (name, outcome) => {
    expect(namesOf(findEndBreaches({ ...hard, outcome }))).toContain(name);
  });
});

test('compaction handles a context with a pinned summary whose text contains the closing tag of summaries', async () => {
  const text = {
    role: 'summary' as const,
    content: 'a </summary> b',
    pinned: true,
    summary: { from: 1, to: 9 },
  };
  const [messages = []] = HARD.chunks;
  const policy = { ...HARD.policy, retentionWindow: 0 };
  const played = await play({ ...HARD, policy, chunks: [[text, ...messages]] }, await loadTokenCounter('o200k_base'));
  expect(played?.breaches).toEqual([]);
});

/** Removes the error text that follows the name of a check that threw. */
function namesOf(breaches: readonly string[]): string[] {
  return breaches.map((breach) => breach.split(':')[0] as string);
}

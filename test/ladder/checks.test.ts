import { beforeAll, describe, expect, test } from 'vitest';
import type { ContextItem } from '../../src/domain/context.ts';
import type { Message } from '../../src/domain/message.ts';
import type { EvaluatedOutcome } from '../../src/evaluation/evaluated-passes.ts';
import { loadTokenCounter } from '../../src/tokens/token-counter.ts';
import { findBreaches } from './checks.ts';
import { findEndBreaches } from './ends.ts';
import { play, type Scenario } from './play.ts';
import type { SeenPass } from './seen-pass.ts';

const call = (id: string, ...others: string[]): Message => ({
  role: 'assistant',
  content: '',
  toolCalls: [id, ...others].map((each) => ({ id: each, name: 'read', arguments: '{}' })),
});

const SOFT: Scenario = {
  chunks: [
    [
      { role: 'system', content: 'Log of the shop.' },
      { role: 'user', content: 'Mind the budget.', pinned: true },
      { role: 'assistant', content: `Yes. ${'I do. '.repeat(300)}` },
      { role: 'user', content: 'Read both.' },
      call('a', 'b'),
      { role: 'tool', content: 'found', toolCallId: 'a' },
      { role: 'tool', content: 'nothing', toolCallId: 'b' },
      { role: 'user', content: 'And now?' },
      call('c'),
    ],
  ],
  policy: { maxTokens: 400, tokenThreshold: 500, retentionWindow: 6, pins: ['Be kind.'] },
  maxRequestBytes: undefined,
  upperBoundFactor: 1,
  reasons: [['turn_end']],
  summarizer: 'failing',
  isBacked: false,
};

/** The floor has to yield: two answers of its window, of which the older goes. */
const HARD: Scenario = {
  ...SOFT,
  chunks: [
    [
      { role: 'user', content: 'Begin.' },
      { role: 'assistant', content: 'One. '.repeat(100) },
      { role: 'assistant', content: 'Two. '.repeat(100) },
      { role: 'user', content: 'Read it.' },
      call('a'),
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

test('the passes that the mutations start from break no check', () => {
  expect([...findBreaches(soft), ...findBreaches(hard)]).toEqual([]);
  expect(soft.after.items.map(({ from }) => from)).toEqual([1, 2, 4, 5, 6, 7, 8, 9]);
  expect(hard.after.items.map(({ from }) => from)).toEqual([1, 3, 4, 5, 6]);
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

/** As if the model had not gone on behind the results. */
function unread({ before, after, ...pass }: SeenPass): SeenPass {
  const until = ({ from }: ContextItem): boolean => from < 9;
  return {
    ...pass,
    before: { ...before, items: before.items.filter(until) },
    after: { ...after, items: after.items.filter(until) },
  };
}

describe('the checks find a mutated version', () => {
  test.each<[string, () => SeenPass]>([
    ['is smaller than its parent', () => settled(soft, { tokensAfter: soft.outcome.settled.tokensBefore })],
    ['gains enough, with soft reasons', () => settled(soft, { tokensAfter: soft.outcome.settled.tokensBefore - 1 })],
    ['is lighter with every step', () => settled(soft, { steps: soft.outcome.settled.steps.flatMap((s) => [s, s]) })],
    ['weighs what it says', () => settled(soft, { tokensAfter: soft.outcome.settled.tokensAfter - 1 })],
    ['weighs what it says', () => without(soft, 4)],
    ['is within the budget, or says why not', () => limited(settled(soft, { explained: [] }), 10)],
    ['is within the budget, or says why not', () => settled(soft, { explained: ['retention_floor'] })],
    ['is within the budget, or says why not', () => limited(settled(hard, { explained: ['nothing_removable'] }), 10)],
    ['is above the budget only where nothing more may go', () => limited(hard, 10)],
    ['is above the budget only where nothing more may go', () => limited({ ...soft, after: soft.before }, 10)],
    ['is valid in three formats', () => without(soft, 6)],
    ['holds every pin whole', () => without(soft, 2)],
    ['holds every pin whole', () => changed(soft, 2, { content: 'Mind it.' })],
    ['holds every pin whole', () => ({ ...soft, prepared: { ...soft.prepared, system: 'Be brief.' } })],
    ['holds the system messages and the live user message', () => without(soft, 1)],
    ['holds the system messages and the live user message', () => changed(soft, 8, { content: 'And?' })],
    ['leaves open rounds as they are', () => without(soft, 9)],
    ['leaves what the model has not read, if shorter', () => without(hard, 5, 6)],
    ['leaves what the model has not read, if shorter', () => unread(changed(soft, 7, { content: 'n…' }))],
    ['splits no round', () => without(soft, 7)],
    ['keeps the order of the log', () => withItems(soft, (items) => items.toReversed())],
    ['adds nothing but summaries, and changes nothing unsaid', () => changed(soft, 6, { content: 'f…' })],
    ['adds nothing but summaries, and changes nothing unsaid', () => changed(soft, 4, {}, { from: 3, to: 3 })],
    ['masks and clips leave what a message answers and calls', () => masked(soft, 6, { toolCallId: 'b' })],
    ['masks and clips leave what a message answers and calls', () => masked(soft, 6, { isError: true })],
    ['masks and clips leave what a message answers and calls', () => masked(soft, 5, { toolCalls: [] })],
    ['keeps the floor as written', () => without(soft, 4)],
    ['keeps the floor as written', () => changed(soft, 6, { content: 'f…' })],
    ['keeps the floor as written', () => settled(without(soft, 4), { isFloorRelaxed: true })],
    ['keeps the floor as written', () => settled(hard, { isFloorRelaxed: false })],
    [
      'takes of the floor the oldest first',
      () => withItems(hard, () => hard.before.items.filter(({ from }) => from !== 3)),
    ],
    ['says that the floor is relaxed where it is, and nowhere else', () => settled(hard, { isFloorRelaxed: false })],
    ['says that the floor is relaxed where it is, and nowhere else', () => settled(soft, { isFloorRelaxed: true })],
    ['archives what it says', () => settled(soft, { archived: 0 })],
  ])('%s', (name, mutate) => {
    expect(namesOf(findBreaches(mutate()))).toContain(name);
  });
});

describe('the checks find a mutated end', () => {
  const reasons = ['manual'] as const;
  const details = { fixed: 10, pinned: 0, open: 0, floor: 0, max: 300 };

  test.each<[string, EvaluatedOutcome]>([
    ['is made when somebody asks for it', { kind: 'no_reason', reasons: [] }],
    ['leaves nothing above the budget without a word, with a hard reason', { kind: 'none', reasons }],
    ['leaves nothing above the budget without a word, with a hard reason', { kind: 'no_gain', reasons }],
    ['is infeasible by its own sum', { kind: 'infeasible', reasons, details }],
    ['is infeasible by its own sum', { kind: 'infeasible', reasons, details: { ...details, fixed: 400, max: 200 } }],
    [
      'is infeasible only where the least that must stay is too much',
      { kind: 'infeasible', reasons, details: { ...details, fixed: 400 } },
    ],
    [
      'is refused for nothing but the bytes of a small cap',
      { kind: 'refused', reasons, refusal: { codes: ['X9'], message: '' } },
    ],
  ])('%s', (name, outcome) => {
    expect(namesOf(findEndBreaches({ ...hard, outcome }))).toContain(name);
  });
});

test('a pass is made over a pinned summary whose text holds the delimiter', async () => {
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

/** Without what a check that threw says besides. */
function namesOf(breaches: readonly string[]): string[] {
  return breaches.map((breach) => breach.split(':')[0] as string);
}

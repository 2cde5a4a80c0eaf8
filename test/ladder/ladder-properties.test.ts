import * as fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import type { ContextItem } from '../../src/domain/context.ts';
import { loadTokenCounter, type TokenCounter } from '../../src/tokens/token-counter.ts';
import { findBreaches, type SeenPass } from './checks.ts';
import { longScenarios, type Played, play, type Scenario, scenarios } from './play.ts';

let counter: TokenCounter;

beforeAll(async () => {
  counter = await loadTokenCounter('o200k_base');
});

/** `npm run properties` plays as many as it is told to. */
describe('of any history, under any policy and any summarizer', () => {
  test.each<[string, fc.Arbitrary<Scenario>, number]>([
    ['each version is what it has to be, and what is infeasible says why', scenarios, 400],
    ['the same of thousands of messages', longScenarios, 6],
  ])(
    '%s',
    async (_what, arbitrary, numRuns) => {
      await fc.assert(
        fc.asyncProperty(arbitrary, async (scenario) => {
          expect((await play(scenario, counter))?.breaches ?? []).toEqual([]);
        }),
        { numRuns },
      );
    },
    240_000,
  );

  test('the same comes of it twice', async () => {
    await fc.assert(
      fc.asyncProperty(scenarios, async (scenario) => {
        const [first, second] = [await play(scenario, counter), await play(scenario, counter)];
        expect(second?.outcomes).toStrictEqual(first?.outcomes);
      }),
      { numRuns: 80 },
    );
  }, 120_000);
});

describe('a version that is not what it has to be is found out', () => {
  const talk: Scenario = {
    chunks: [
      [
        { role: 'system', content: 'Log of the shop.' },
        { role: 'user', content: 'Mind the budget.', pinned: true },
        { role: 'assistant', content: `Yes. ${'I do. '.repeat(300)}` },
        { role: 'user', content: 'Read both.' },
        { role: 'assistant', content: '', toolCalls: ['a', 'b'].map((id) => ({ id, name: 'read', arguments: '{}' })) },
        { role: 'tool', content: 'found', toolCallId: 'a' },
        { role: 'tool', content: 'nothing', toolCallId: 'b' },
        { role: 'user', content: 'And now?' },
        { role: 'assistant', content: '', toolCalls: [{ id: 'c', name: 'read', arguments: '{}' }] },
      ],
    ],
    policy: { maxTokens: 400, tokenThreshold: 500, retentionWindow: 6, pins: ['Be kind.'] },
    maxRequestBytes: undefined,
    upperBoundFactor: 1,
    reasons: [['turn_end']],
    summarizer: 'failing',
    isBacked: false,
  };
  let pass: SeenPass;

  beforeAll(async () => {
    const { versions } = (await play(talk, counter)) as Played;
    [pass] = versions as [SeenPass];
  });

  test('and one that is, is not', () => {
    expect(findBreaches(pass)).toEqual([]);
    expect(pass.after.items.map(({ from }) => from)).toEqual([1, 2, 4, 5, 6, 7, 8, 9]);
  });

  const without = (...seqs: number[]) => ({
    after: { ...pass.after, items: pass.after.items.filter(({ from }) => !seqs.includes(from)) },
  });
  const changed = (seq: number, content: string) => ({
    after: {
      ...pass.after,
      items: pass.after.items.map(
        (item): ContextItem => (item.from === seq ? { ...item, message: { ...item.message, content } } : item),
      ),
    },
  });
  const settled = (changes: Partial<SeenPass['outcome']['settled']>) => ({
    outcome: { ...pass.outcome, settled: { ...pass.outcome.settled, ...changes } },
  });

  /** As if the model had not gone on behind the results. */
  const unread = ({ after }: Pick<SeenPass, 'after'>) => ({
    before: { ...pass.before, items: pass.before.items.filter(({ from }) => from < 9) },
    after: { ...after, items: after.items.filter(({ from }) => from < 9) },
  });

  test.each<[string, () => Partial<SeenPass>]>([
    ['is smaller than its parent', () => settled({ tokensAfter: pass.outcome.settled.tokensBefore })],
    ['weighs what it says', () => settled({ tokensAfter: pass.outcome.settled.tokensAfter - 1 })],
    ['weighs what it says', () => without(4)],
    ['is within the budget, or says why not', () => settled({ tokensAfter: 401, explained: [] })],
    ['is valid in three formats', () => without(6)],
    ['holds every pin whole', () => without(2)],
    ['holds every pin whole', () => changed(2, 'Mind it.')],
    ['holds every pin whole', () => ({ prepared: { ...pass.prepared, system: 'Be brief.' } })],
    ['holds the system messages and the live user message', () => without(1)],
    ['holds the system messages and the live user message', () => changed(8, 'And?')],
    ['leaves open rounds as they are', () => without(9)],
    ['leaves what the model has not read, if shorter', () => unread(without(7))],
    ['leaves what the model has not read, if shorter', () => unread(changed(7, 'n…'))],
    ['splits no round', () => without(7)],
    ['keeps the order of the log', () => ({ after: { ...pass.after, items: pass.after.items.toReversed() } })],
    ['keeps the floor as written', () => without(4)],
    ['keeps the floor as written', () => changed(6, 'f…')],
    ['archives what it says', () => settled({ archived: 0 })],
  ])('%s', (name, mutate) => {
    expect(findBreaches({ ...pass, ...mutate() }).map((breach) => breach.split(':')[0])).toContain(name);
  });
});

import { afterAll, expect, test } from 'vitest';
import { agentOf, words } from './agents.ts';
import { openFixture, settled } from './fixture.ts';

const fixture = await openFixture();

afterAll(() => fixture.close());

/** Compares the recorded size of each kept version with the sum of its items as a client reads them. */
async function expectExact(conversation: string): Promise<string[]> {
  const versions = await fixture.client.versions(conversation);
  for (const { number, weight } of versions) {
    const { items } = await fixture.client.show(conversation, number);
    const sum = items.reduce((tokens, item) => tokens + item.tokens, 0);
    expect(weight.tokens, `version ${number} of ${conversation}`).toBe(sum);
  }
  return versions.map(({ cause }) => cause);
}

test('each version has the size of its items after passes, restores, rollbacks and a fork, even if the version opens with an answer', async () => {
  const policy = { maxTokens: 1_200, retentionWindow: 2, keepFirstUser: false, minSequenceTokens: 9_000 };
  await fixture.useWorkers(agentOf({ policy, profile: { windowTokens: 3_000, outputCapTokens: 500 } }));
  const answer = { role: 'assistant' as const, content: words(200) };
  const question = { role: 'user' as const, content: words(300) };
  const messages = [{ ...question, droppable: true }, { ...answer, pinned: true }, answer, question, answer, answer];
  await fixture.client.append({ conversation: 'w', agent: 'guide', messages });
  await fixture.client.compact('w');
  await fixture.untilCompacted('w');
  expect((await fixture.client.show('w', 1)).items[0]?.message.role).toBe('assistant');
  const live = async () => (await fixture.client.describe('w')).size;
  const { size } = await fixture.client.describe('w');
  await fixture.enqueue('w', 't1', words(200));
  await settled(fixture, 'w', 't1');
  await fixture.client.rollBackTurn('w', 't1');
  expect((await live()).weight, 'the size with the placeholder before the answer').toEqual(size.weight);
  await fixture.client.restore('w', { version: 0, newer: 'drop' });
  await fixture.client.restore('w', { version: 1, newer: 'keep' });
  await fixture.client.fork('w', 'w-fork', { version: 1 });
  expect(await expectExact('w')).toEqual(['pass', 'rollback', 'restore', 'restore']);
  expect(await expectExact('w-fork')).toEqual(['fork']);
});

import { afterAll, expect, it } from 'vitest';
import type { Agent } from '../../src/domain/agent.ts';
import type { ModelRequest } from '../../src/domain/model.ts';
import { agentOf, words } from './agents.ts';
import { eventually, openFixture, settled } from './fixture.ts';

const PIN = 'Prices are in "francs".\nNever quote another currency.';

const fixture = await openFixture();

afterAll(() => fixture.close());

function createAgent(asked: ModelRequest[], pins: string[]): Agent {
  return agentOf({
    decide: (request) => {
      asked.push(request);
      return { content: words(300) };
    },
    policy: { pins, messageThreshold: 4, retentionWindow: 2, strategy: { retain: 2 }, keepFirstUser: false },
  });
}

it('every model request has the pinned texts of the policy, and show returns the pinned texts that a version was made with', async () => {
  const asked: ModelRequest[] = [];
  const workers = await fixture.startWorkers(createAgent(asked, [PIN]));
  const pinned = { role: 'user' as const, content: 'My account is 4711.', pinned: true };
  await fixture.client.append({ conversation: 'p', agent: 'guide', messages: [pinned] });
  for (let turns = 0; turns < 4; turns += 1) {
    const { turn } = await fixture.client.enqueueTurn({
      conversation: 'p',
      agent: 'guide',
      input: `question ${turns}`,
    });
    await settled(fixture, 'p', turn);
    await eventually(
      () => fixture.client.describe('p'),
      (state) => expect(state.passId).toBeUndefined(),
    );
  }
  const versions = await fixture.client.versions('p');
  expect(versions.length).toBeGreaterThan(0);
  for (const { system, messages } of asked) {
    expect(system).toBe(`You guide.\n\n${PIN}`);
    expect(messages.filter((message) => message.pinned)).toMatchObject([pinned]);
  }
  expect(asked.at(-1)?.messages.length).toBeLessThan(8);
  await workers.close();

  await fixture.startWorkers(createAgent(asked, ['Prices are in dollars.']));
  const { turn } = await fixture.client.enqueueTurn({ conversation: 'p', agent: 'guide', input: 'and now?' });
  await settled(fixture, 'p', turn);
  expect(asked.at(-1)?.system).toBe('You guide.\n\nPrices are in dollars.');
  const [first] = versions;
  const shown = await fixture.client.show('p', first?.number ?? 0);
  expect(shown.agentSnapshot).toEqual({ system: 'You guide.', pins: [PIN], tools: [] });
  expect((await fixture.client.show('p', 0)).agentSnapshot).toBeUndefined();
});

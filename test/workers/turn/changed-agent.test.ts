import { expect, it } from 'vitest';
import type { Agent } from '../../../src/domain/agent.ts';
import { scriptedModel } from '../../../src/providers/scripted.ts';
import { loadTokenCounter } from '../../../src/wire/tokens/token-counter.ts';
import { prepareAgent } from '../../../src/workers/prepared-agent.ts';
import { Fixture, type FixtureOptions } from './fixture.ts';

/** turnfold's own sizes of two requests. A deploy changes the agent between them. */
async function sizesOver(change: (agent: Agent) => Agent): Promise<readonly number[]> {
  const usage = { inputTotal: 1_500, output: 2, outputKept: 2 };
  const model = scriptedModel({ decide: () => ({ content: 'there', usage }) });
  const options: FixtureOptions = { model };
  const { agent } = (await Fixture.open(options)).agent;
  const deployed = await prepareAgent(change(agent), {}, { loadCounter: loadTokenCounter });
  let isDeployed = false;
  const world: Fixture = await Fixture.open({
    ...options,
    wrap: (ports) => ({ ...ports, agents: { find: () => (isDeployed ? deployed : world.agent) } }),
  });
  for (const turn of ['t1', 't2']) {
    await world.accept(turn, 'Hi');
    await world.deliver();
    isDeployed = true;
  }
  return world.eventsOf('model_called').map(({ tokens }) => tokens);
}

it('a provider’s token count is used again for requests with the same model, system prompt and tools', async () => {
  const [first = 0, second] = await sizesOver((agent) => agent);
  expect(second).toBeGreaterThan(1_500);
  expect(first).toBeLessThan(50);
});

it.each([
  ['system prompt', (agent: Agent) => ({ ...agent, system: `You guide.${' word'.repeat(7_000)}` }), 7_000],
  [
    'model',
    (agent: Agent) => ({ ...agent, model: scriptedModel({ profile: { id: 'other' }, decide: () => ({}) }) }),
    10,
  ],
])(
  'a request with a changed %s ignores the provider’s earlier token count and uses turnfold’s own',
  async (_, change, least) => {
    const [, second = 0] = await sizesOver(change);
    expect(second).toBeGreaterThan(least);
    expect(second).toBeLessThan(least + 100);
  },
);

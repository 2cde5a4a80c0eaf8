import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { ModelRequest } from '../../src/domain/model.ts';
import { type Agent, defineAgent, scriptedModel } from '../../src/index.ts';
import { openTestWorkers } from '../../src/testing/index.ts';

const LONG = 'The warehouse moves by rail, because the road is closed. '.repeat(60);
const tool = { name: 'look', description: 'Looks.', input: z.object({}), run: async () => 'seen' };
const picture = { type: 'image', reference: 'picture-1', mediaType: 'image/png' } as const;

/** Runs a turn and a pass of one agent, whose model also summarizes. */
async function summarize(changes: Partial<Agent> = {}, structured = false) {
  const requests: ModelRequest[] = [];
  const scripted = scriptedModel({
    profile: { abilities: { structured } },
    decide: (request) => {
      requests.push(request);
      return { content: request.isSummary === true ? `## State\n${LONG.slice(0, 56)}` : '{"done":true}' };
    },
  });
  const workers = await openTestWorkers({
    agents: [
      defineAgent({
        name: 'guide',
        system: 'You guide.',
        tools: [tool],
        policy: { maxTokens: 1_000, retentionWindow: 2, summarizer: { models: ['scripted'] } },
        ...changes,
        model: scripted,
      }),
    ],
  });
  onTestFinished(() => workers.close());
  const { client } = workers;
  const conversation = 'c';
  const answers = Array.from({ length: 3 }, () => ({ role: 'assistant' as const, content: LONG }));
  await client.append({
    conversation,
    agent: 'guide',
    messages: [{ role: 'user', content: 'Move.', parts: [picture] }, ...answers],
  });
  await client.enqueueTurn({ conversation, agent: 'guide', turn: 't', input: 'Go on.' });
  await client.result(conversation, 't', { waitMs: 10_000 });
  await client.compact(conversation);
  await workers.idle();
  return {
    asked: requests.filter(({ isSummary }) => isSummary !== true),
    summaries: requests.filter(({ isSummary }) => isSummary === true),
  };
}

test('a summary by the agent’s own model continues a request of the agent, with its hints for the provider’s cache', async () => {
  const { asked, summaries } = await summarize();
  const { system, tools, cache } = asked[0] ?? {};
  expect(cache).toBeDefined();
  expect(summaries[0]).toMatchObject({ system, tools, cache });
});

test.each<[string, Partial<Agent>, boolean]>([
  ['a schema of answers that the provider enforces', { answer: z.object({ done: z.boolean() }) }, true],
  ['loaded contents', { loadContent: async () => 'https://files.example/a.png' }, false],
])(
  'a summary is written in a request of its own if %s are part of what the provider has in its cache',
  async (_, changes, structured) => {
    const { asked, summaries } = await summarize(changes, structured);
    expect(asked[0]?.tools).toHaveLength(1);
    expect(summaries.length).toBeGreaterThan(0);
    for (const request of summaries) expect(request).toMatchObject({ tools: [], thinking: 'off' });
  },
);

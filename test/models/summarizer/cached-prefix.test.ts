import { expect, it } from 'vitest';
import { ModelError } from '../../../src/domain/model.ts';
import type { CachedPrefix } from '../../../src/domain/summarizer.ts';
import { createModelSummarizer } from '../../../src/summarize/model/model-summarizer.ts';
import { loadTokenCounter } from '../../../src/wire/tokens/token-counter.ts';
import { startProvider } from '../../provider/provider.ts';
import { ask, connect, READ } from '../fixture.ts';
import { HISTORY, openWorld, RECORD } from './fixture.ts';

const PREFIX: CachedPrefix = {
  system: 'You look things up.',
  tools: [READ],
  messages: [{ role: 'user', content: 'Move the shop.' }, ...HISTORY],
  version: 0,
  tokens: 2_000,
  rangeTokens: 1_900,
};
const readPrefix = async (): Promise<CachedPrefix> => PREFIX;

it('the agent’s own model writes a summary in a request that continues the conversation, with the agent’s prompt and tools', async () => {
  const world = await openWorld({ hasCachedPrefix: true });
  expect(await world.summarize({ readPrefix })).toMatchObject({ status: 'written', isUpdate: false });
  const [request] = world.requests;
  expect(world.requests).toHaveLength(1);
  expect(request).toMatchObject({ system: PREFIX.system, tools: PREFIX.tools, version: 0 });
  expect(request?.messages.slice(0, -1)).toEqual(PREFIX.messages);
  expect(request?.messages.at(-1)?.content).toMatch(/not from the user[\s\S]*"goal": /);
  expect(request?.thinking).toBeUndefined();
  expect(request?.isSummary).toBe(true);
});

it.each([
  ['another model summarizes', { hasCachedPrefix: false }, {}],
  ['the conversation is much larger than the messages', { hasCachedPrefix: true }, { tokens: 20_000 }],
  ['the conversation does not fit into the window', { hasCachedPrefix: true, profile: { windowTokens: 3_000 } }, {}],
])('a summary is written in a separate request, without thinking, if %s', async (_, options, changes) => {
  const world = await openWorld(options);
  await world.summarize({ readPrefix: async () => ({ ...PREFIX, ...changes }) });
  for (const request of world.requests) expect(request).toMatchObject({ tools: [], thinking: 'off' });
});

it('a summary is written in a separate request if the request that continues the conversation fails', async () => {
  let calls = 0;
  const world = await openWorld({
    hasCachedPrefix: true,
    decide: () => {
      calls += 1;
      return calls === 1 ? new ModelError('overflow', 'too long') : { content: RECORD };
    },
  });
  expect(await world.summarize({ readPrefix })).toMatchObject({ status: 'written' });
  expect(world.requests.map(({ tools }) => tools.length)).toEqual([1, 0]);
});

it('a summary request that continues the conversation starts with the same bytes that the provider has in its cache', async () => {
  await using provider = await startProvider({ answers: [{ text: 'Done.' }, { text: RECORD }] });
  const model = connect('anthropic', provider);
  await model.generate(ask([...PREFIX.messages, { role: 'user', content: 'Go on.' }]));
  const counter = await loadTokenCounter('o200k_base');
  const summarizer = createModelSummarizer({ model, counter, clock: { now: () => 0 }, hasCachedPrefix: true });
  const signal = new AbortController().signal;
  await summarizer.summarize({ range: { from: 2, to: 7 }, messages: HISTORY, maxTokens: 400, signal, readPrefix });
  const [first, second] = provider.requests.map(({ body }) => body as Readonly<Record<string, readonly unknown[]>>);
  for (const field of ['system', 'tools', 'thinking']) expect(second?.[field]).toEqual(first?.[field]);
  const before = first?.['messages'] ?? [];
  expect(second?.['messages']?.slice(0, before.length - 1)).toEqual(before.slice(0, -1));
});

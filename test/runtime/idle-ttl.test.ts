import { afterAll, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/domain/agent.ts';
import type { ModelRequest } from '../../src/domain/model.ts';
import { agentOf } from './agents.ts';
import { eventsOf, eventually, openFixture } from './fixture.ts';

const fixture = await openFixture();

afterAll(() => fixture.close());

/** A call of this tool waits until the test answers it. */
const ask = defineTool({ name: 'ask', description: '', input: z.object({}) });

/** Every key that names the conversation. */
async function keysOf(conversation: string): Promise<string[]> {
  const found: string[] = [];
  for await (const keys of fixture.redis.scanStream({ match: `*:${conversation}*` })) found.push(...(keys as string[]));
  return found;
}

it('a conversation is erased after its idle TTL unless one of its turns is waiting', async () => {
  const isQueued = Promise.withResolvers<void>();
  const decide = async ({ messages }: ModelRequest) => {
    const { content } = messages.at(-1) ?? {};
    // The first turn ends after the second is accepted, so that the conversation is never idle in between.
    if (content === 'first') await isQueued.promise;
    return content === 'wait' ? { toolCalls: [{ name: 'ask', arguments: {} }] } : { content: 'said' };
  };
  const workers = await fixture.startWorkers(agentOf({ decide, tools: [ask], policy: { conversationTtl: 1_000 } }));
  const expired = (): (string | undefined)[] =>
    eventsOf(workers, 'conversation_expired').map(({ conversation }) => conversation);
  await fixture.enqueue('waiting', 't1', 'first');
  await fixture.enqueue('waiting', 't2', 'wait');
  isQueued.resolve();
  await eventually(
    () => fixture.client.result('waiting', 't2'),
    ({ state }) => expect(state).toBe('waiting'),
  );

  // The waiting conversation is older, so its idle TTL would pass first.
  await fixture.enqueue('quiet', 't1', 'hello');
  await fixture.client.append({
    conversation: 'logged',
    agent: 'guide',
    messages: [{ role: 'user', content: 'hello' }],
  });
  await eventually(expired, (ids) => expect(new Set(ids)).toEqual(new Set(['logged', 'quiet'])));
  for (const conversation of ['quiet', 'logged']) {
    await eventually(
      () => keysOf(conversation),
      (keys) => expect(new Set(keys.map((key) => key.split(':')[2]))).toEqual(new Set(['gone'])),
    );
    await expect(fixture.client.describe(conversation)).rejects.toMatchObject({ code: 'not_found' });
  }
  expect(await fixture.client.result('waiting', 't2')).toMatchObject({ state: 'waiting' });

  await fixture.client.answer('waiting', 't2', { c4_0: { content: 'blue' } });
  await eventually(expired, (ids) => expect(ids).toContain('waiting'));
  const outcomes = eventsOf(workers, 'turn_settled').map(({ turn, outcome }) => `${turn} ${outcome}`);
  expect(outcomes.toSorted()).toEqual(['t1 completed', 't1 completed', 't2 completed']);
  expect(await fixture.enqueue('quiet', 't1', 'hello again'), 'created again').toMatchObject({ state: 'queued' });
});

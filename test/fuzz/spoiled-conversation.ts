import { expect } from 'vitest';
import type { OpenClient } from '../../src/api/client/index.ts';
import type { Fixture } from '../client/fixture.ts';

/** Creates a conversation with a settled turn and a turn that waits. */
export async function makeConversation({ client }: Fixture, id: string): Promise<void> {
  const { turn } = await client.enqueueTurn({ conversation: id, agent: 'talker', input: 'call echo' });
  expect(await client.result(id, turn, { waitMs: 60_000 })).toMatchObject({ state: 'completed' });
  const waits = await client.enqueueTurn({ conversation: id, agent: 'talker', input: 'call ask', turn: 'waits' });
  await expect.poll(async () => (await client.result(id, waits.turn)).state, { timeout: 60_000 }).toBe('waiting');
}

/** Calls of a client on a conversation whose records may be spoiled. The last one erases it. */
export function callsOn(client: OpenClient, id: string, fork: string): (() => Promise<unknown>)[] {
  return [
    () => client.describe(id),
    () => client.context(id),
    () => client.log(id),
    () => client.versions(id),
    () => drain(client.events(id, { after: '0', waitMs: 0 })),
    () => client.result(id, 'waits'),
    () => client.openTurns(id),
    () => client.answer(id, 'waits', { c6_0: { content: 'x' } }),
    () => client.append({ conversation: id, agent: 'talker', messages: [{ role: 'user', content: 'x' }] }),
    () => client.enqueueTurn({ conversation: id, agent: 'talker', input: 'x' }),
    () => client.cancel(id, 'waits'),
    () => client.compact(id),
    () => client.fork(id, fork),
    () => client.failedTurns(),
    () => client.erase(id),
  ];
}

async function drain(list: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of list);
}

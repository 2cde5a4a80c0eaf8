import { setTimeout as delay } from 'node:timers/promises';
import type { OpenClient } from '../../src/api/client/index.ts';

export const SHARDS = 16;
/** Address of a webhook in the kept dump. A test replaces it with the address of its receiver. */
export const HOOK = 'https://receiver.invalid/hook';
const WAIT_MS = 60_000;

/** Waits until a reading has the wanted value. */
async function until(what: string, isDone: () => Promise<boolean>): Promise<void> {
  for (const startedAt = Date.now(); !(await isDone()); await delay(50)) {
    if (Date.now() - startedAt > WAIT_MS) throw new Error(`${what}: not in time`);
  }
}

/** Leaves conversations in every state that a rollout can meet. Workers run, and give no answer to the input `hold`. */
export async function fillDatabase(client: OpenClient): Promise<void> {
  const agent = 'talker';
  await client.webhooks.add({ tenant: '_', url: HOOK });
  await client.keys.create({ tenant: '_', scopes: ['read'], name: 'reader' });
  const messages = Array.from({ length: 12 }, (_, turn) => [
    { role: 'user' as const, content: `question ${turn}` },
    { role: 'assistant' as const, content: `thought ${turn} ${'and so on '.repeat(150)}` },
    { role: 'assistant' as const, content: `answer ${turn} ${'and so forth '.repeat(150)}` },
  ]).flat();
  await client.append({ conversation: 'compacted', agent, messages });
  await client.compact('compacted');
  await client.append({ conversation: 'reviewed', agent: 'careful', messages });
  for (const [turn, input] of Object.entries({ t1: 'hello', t2: 'call echo' })) {
    await client.enqueueTurn({ conversation: 'settled', turn, agent, input });
    await client.result('settled', turn, { waitMs: WAIT_MS });
  }
  await client.fork('settled', 'forked');
  await client.enqueueTurn({ conversation: 'failed', turn: 't1', agent, input: 'late', deadlineMs: 1 });
  await client.result('failed', 't1', { waitMs: WAIT_MS });
  await client.enqueueTurn({ conversation: 'approval', turn: 't1', agent, input: 'call risk' });
  await client.enqueueTurn({ conversation: 'tools', turn: 't1', agent, input: 'call ask' });
  await client.enqueueTurn({ conversation: 'scheduled', turn: 't1', agent, input: 'later', delayMs: 3_600_000 });
  await client.enqueueTurn({ conversation: 'held', turn: 't1', agent, input: 'hold' });
  const stateOf = async (id: string): Promise<string> => (await client.result(id, 't1')).state;
  for (const id of ['approval', 'tools']) await until(id, async () => (await stateOf(id)) === 'waiting');
  await until('held', async () => (await stateOf('held')) === 'running');
  await until('compacted', async () => (await client.versions('compacted')).length > 0);
  await until('reviewed', async () => (await client.proposal('reviewed')) !== undefined);
}

/** Adds turns that no worker has seen. No worker runs. */
export async function queueTurns(client: OpenClient): Promise<void> {
  for (const turn of ['t1', 't2']) {
    await client.enqueueTurn({ conversation: 'queued', turn, agent: 'talker', input: `queued ${turn}` });
  }
}

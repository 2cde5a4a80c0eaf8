import { afterAll, expect, it } from 'vitest';
import type { ModelRequest } from '../../src/domain/model.ts';
import { Keyspace } from '../../src/store/keys.ts';
import { restConversation } from '../store/rest-conversation.ts';
import { agentOf } from './agents.ts';
import { eventsOf, eventually, openFixture } from './fixture.ts';

const fixture = await openFixture();

afterAll(() => fixture.close());

const TURNS = 8;

it('after a worker packed the log of an idle conversation, turns, readers and commands still see every message', async () => {
  const requests: ModelRequest[] = [];
  const workers = await fixture.startWorkers(
    agentOf({
      decide: (request) => {
        requests.push(request);
        return { content: `answer ${request.messages.length}` };
      },
    }),
  );
  const { client, redis } = fixture;
  for (let turn = 1; turn <= TURNS; turn += 1) {
    await fixture.enqueue('rested', `t${turn}`, `question ${turn}`);
    await client.result('rested', `t${turn}`, { waitMs: 60_000 });
  }
  const log = await client.log('rested');
  const before = await client.result('rested', 't1');
  const streamed = await streamTurn('t2');
  expect(JSON.stringify(streamed)).toContain('answer 3');

  const ref = { tenant: '_', id: 'rested' };
  const [key] = await redis.keys('*:log:rested');
  const shard = Number(/^\{tf(\d+)\}/.exec(key ?? '')?.[1]);
  await restConversation(redis, await keyspaceOf(shard), ref);
  await redis.zadd(`{tf${shard}}:unpacked`, 1, '_|rested');
  await eventually(
    () => eventsOf(workers, 'log_packed'),
    (events) => expect(events).toMatchObject([{ conversation: 'rested', entries: 2 * TURNS - 1 }]),
  );
  expect(await redis.hlen(key ?? '')).toBe(1);
  const last = log.pop();
  expect(await client.log('rested')).toMatchObject([...log, { seq: last?.seq, message: last?.message }]);
  expect(await client.result('rested', 't1')).toEqual(before);
  expect(await streamTurn('t2')).toEqual(streamed);

  await fixture.enqueue('rested', 'next', 'one more');
  await client.result('rested', 'next', { waitMs: 60_000 });
  expect(requests.at(-1)?.messages.map(({ content }) => content)).toEqual([
    ...log.map(({ message }) => message.content),
    last?.message.content,
    'one more',
  ]);
});

async function streamTurn(turn: string): Promise<unknown[]> {
  const parts: unknown[] = [];
  for await (const part of fixture.client.stream('rested', turn)) parts.push(part);
  return parts;
}

/** The key names of the database, whose number of shards the fixture chose. */
async function keyspaceOf(shard: number): Promise<Keyspace> {
  const shards = Number(await fixture.redis.hget('{tf}:database', 'shards'));
  expect(shard).toBeLessThan(shards);
  return new Keyspace(shards);
}

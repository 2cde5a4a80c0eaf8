import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { afterAll, expect, test, vi } from 'vitest';
import { INBOX_QUEUE, QUEUES, queuePrefix } from '../../src/jobs/queues.ts';
import { compact, createTalker, openFixture, talk } from '../client/fixture.ts';

const TENANT = 'acme';

/** Words of one erased conversation. They stand in everything that belongs to it. */
interface Words {
  readonly text: string;
  readonly conversation: string;
  readonly turn: string;
}

/** Reads every key and value of a database, and lists the keys that hold one of the words, and the word. */
async function findWords(redis: Redis, words: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  let cursor = '0';
  do {
    const [next, keys] = await redis.scan(cursor, 'COUNT', '1000');
    cursor = next;
    for (const key of keys) {
      const content = `${key} ${JSON.stringify(await readKey(redis, key))}`;
      for (const word of words) if (content.includes(word)) found.push(`${key}: ${word}`);
    }
  } while (cursor !== '0');
  return found.toSorted();
}

async function readKey(redis: Redis, key: string): Promise<unknown> {
  const type = await redis.type(key);
  if (type === 'string') return await redis.get(key);
  if (type === 'hash') return await redis.hgetall(key);
  if (type === 'list') return await redis.lrange(key, 0, -1);
  if (type === 'set') return await redis.smembers(key);
  if (type === 'zset') return await redis.zrange(key, '0', '-1');
  if (type === 'stream') return await redis.xrange(key, '-', '+');
  return type;
}

const fixture = await openFixture();
const { client, redis } = fixture;
const { hostname: host, port } = new URL(fixture.url);
const open = (name: string) => new Queue(name, { connection: { host, port: Number(port) }, prefix: queuePrefix(0) });
const inbox = open(INBOX_QUEUE);
const wakes = open(QUEUES.turn);
afterAll(async () => {
  await Promise.all([inbox.close(), wakes.close()]);
  await fixture.close();
});

/** Leaves a trace of a conversation in every part of the database. */
async function leaveTraces({ text, conversation, turn }: Words): Promise<void> {
  const agent = 'talker';
  const name = { tenant: TENANT, conversation };
  const messages = talk(12).map((message) => ({ ...message, content: `${String(message.content)} ${text}` }));
  await client.append({ ...name, agent, messages });
  const enqueue = async (suffix: string, input: string, options: object = {}): Promise<void> => {
    await client.enqueueTurn({ ...name, agent, turn: `${turn}-${suffix}`, input, ...options });
  };
  await enqueue('done', `hello ${text}`, { context: { note: text } });
  for await (const _ of client.stream(name, `${turn}-done`)); // a followed turn has a stream of pieces
  await compact(fixture, name);
  await enqueue('failed', `hello ${text}`, { deadlineMs: 1 });
  await enqueue('waits', 'call ask');
  await vi.waitFor(async () => expect(await client.result(name, `${turn}-waits`)).toMatchObject({ state: 'waiting' }));
  await enqueue('queued', `behind ${text}`);
  await enqueue('scheduled', `later ${text}`, { delayMs: 3_600_000 });
}

async function fillInbox({ text, conversation, turn }: Words): Promise<void> {
  const agent = 'talker';
  const data = { tenant: TENANT, conversation, agent, input: `job ${text}` };
  await inbox.add('turn', { ...data, turn: `${turn}-inbox` });
  const refused = await inbox.add('turn', { ...data, agent: 'other' }, { jobId: `${turn}-refused` });
  await inbox.add('turn', data, { jobId: `${turn}-named` });
  await vi.waitFor(async () => expect(await inbox.getJobCounts('completed', 'failed')).toMatchObject({ completed: 2 }));
  await vi.waitFor(async () => expect(await refused.isFailed()).toBe(true));
  await inbox.pause();
  await inbox.add('turn', { ...data, turn: `${turn}-waiting` });
  await inbox.add('turn', { ...data, turn: `${turn}-prioritized` }, { priority: 3 });
  await inbox.add('turn', { ...data, turn: `${turn}-delayed` }, { delay: 3_600_000 });
}

/** Words that a database still holds, without the mark of the erase, which has a time to live. */
async function findRest(words: Words): Promise<string[]> {
  const found = await findWords(redis, Object.values(words));
  const marks = found.filter((line) => line.includes(`:gone:${words.conversation}`));
  for (const line of marks) expect(await redis.pttl(line.slice(0, line.lastIndexOf(': ')))).toBeGreaterThan(0);
  return found.filter((line) => !marks.includes(line));
}

async function startAll(): Promise<void> {
  await client.webhooks.add({ tenant: TENANT, url: 'https://receiver.invalid/hook' });
  await fixture.startWorkers(
    [createTalker(), { ...createTalker(), name: 'brief', policy: { conversationTtl: 1_000 } }],
    {
      inbox: true,
    },
  );
}

/** Fills the queue of turns, so that further wakes have no job. No worker takes a job of it. */
async function crowdQueue(): Promise<void> {
  await wakes.pause();
  for (let other = 0; other < 12; other += 1) {
    await client.enqueueTurn({ tenant: TENANT, conversation: `other-${other}`, agent: 'talker', input: 'hi' });
  }
}

const started = startAll();

test('an erase leaves no text and no id of a conversation in any key of the database', async () => {
  await started;
  const words = { text: 'canarytext', conversation: 'canaryid', turn: 'canaryturn' };
  const name = { tenant: TENANT, conversation: words.conversation };
  await leaveTraces(words);
  await fillInbox(words);
  await crowdQueue();
  await client.cancel(name, `${words.turn}-waits`);
  expect((await findRest(words)).length).toBeGreaterThan(20);
  await client.erase(name);
  expect(await findRest(words)).toEqual([]);
  await inbox.resume();
  await wakes.resume();
});

test('an erase removes nothing from another tenant’s conversation with the same id', async () => {
  await started;
  await inbox.pause();
  const data = { conversation: 'shared', agent: 'talker', input: 'kept' };
  const kept = await inbox.add('turn', { ...data, tenant: 'other' }, { jobId: 'kept' });
  const near = await inbox.add(
    'turn',
    { ...data, conversation: 'shared-2', context: { id: 'shared' } },
    { jobId: 'near' },
  );
  await inbox.add('turn', data, { jobId: 'erased' });
  await client.erase('shared');
  const waiting = await inbox.getWaiting();
  expect(new Set(waiting.map(({ id }) => id))).toEqual(new Set([kept.id, near.id]));
  await inbox.obliterate({ force: true });
  await inbox.resume();
});

test('a fork keeps its copies when its source is erased, and an erase of the fork leaves nothing of either', async () => {
  await started;
  const words = { text: 'forkedtext', conversation: 'forkedid', turn: 'forkedturn' };
  const source = { tenant: TENANT, conversation: words.conversation };
  const fork = { tenant: TENANT, conversation: 'copy' };
  await client.append({ ...source, agent: 'talker', messages: [{ role: 'user', content: words.text }] });
  await client.enqueueTurn({ ...source, agent: 'talker', turn: words.turn, input: words.text });
  await client.result(source, words.turn, { waitMs: 30_000 });
  await client.fork(source, fork);
  await client.erase(source);
  const rest = await findRest(words);
  expect(rest.filter((line) => !line.includes(':copy: '))).toEqual([]);
  expect(await client.log(fork)).toMatchObject([{ message: { content: words.text } }, {}, {}]);
  await client.erase(fork);
  expect(await findRest(words)).toEqual([]);
});

test('the expiry of an idle conversation leaves no text and no id of it in any key of the database', async () => {
  await started;
  const words = { text: 'idletext', conversation: 'idleid', turn: 'idleturn' };
  const data = { tenant: TENANT, conversation: words.conversation, agent: 'brief', input: `job ${words.text}` };
  const job = await inbox.add('turn', { ...data, turn: words.turn }, { jobId: `${words.turn}-job` });
  await inbox.add('turn', { ...data, agent: 'talker' }, { jobId: `${words.turn}-refused` });
  await vi.waitFor(async () => expect(await job.isCompleted()).toBe(true));
  await vi.waitFor(async () => expect(await findRest(words)).toEqual([]), 30_000);
});

test('an erase removes the data of a conversation from the quarantine and from the outbox of a removed webhook', async () => {
  await started;
  const words = { text: 'setasidetext', conversation: 'setasideid', turn: 'setasideturn' };
  const name = { tenant: TENANT, conversation: words.conversation };
  const { webhook } = await client.webhooks.add({ tenant: TENANT, url: 'https://removed.invalid/hook' });
  await client.enqueueTurn({ ...name, agent: 'talker', turn: words.turn, input: words.text });
  await client.result(name, words.turn, { waitMs: 30_000 });
  await client.webhooks.remove(webhook.id);
  const keyOfTurn = (await redis.keys(`*:t:${words.conversation}:*`))[0] ?? '';
  const shard = keyOfTurn.slice(0, keyOfTurn.indexOf(':') + 1);
  await redis.hset(`${shard}quarantined`, `ready|t|${TENANT}|${words.conversation}`, '1 2 corrupt');
  await redis.hset(`${shard}quarantined`, `key|${shard}${TENANT}:sum:${words.conversation}:a`, '1 - corrupt');
  await redis.hset(`${shard}quarantined`, `ready|t|${TENANT}|${words.conversation}-2`, '1 2 corrupt');
  await client.erase(name);
  expect(await findRest(words)).toEqual([`${shard}quarantined: ${words.conversation}`]);
  expect(await redis.hkeys(`${shard}quarantined`)).toEqual([`ready|t|${TENANT}|${words.conversation}-2`]);
});

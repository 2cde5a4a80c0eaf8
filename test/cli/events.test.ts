import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OpenClient, openClient } from '../../src/api/client/index.ts';
import type { LocalRedis } from '../../src/host/local-redis/local-redis.ts';
import { provideRedis } from '../../src/host/local-redis/provide-redis.ts';
import { readRedisSource } from '../setup/redis-source.ts';
import { readJsonLines, runTurnfold, startTurnfold } from './run-turnfold.ts';

let redis: LocalRedis;
let client: OpenClient;
beforeAll(async () => {
  redis = await provideRedis(readRedisSource());
  client = await openClient({ redisUrl: redis.url });
});
afterAll(async () => {
  await client.close();
  await redis.stop();
});

const turnfold = (...args: string[]) => runTurnfold(args, { env: { REDIS_URL: redis.url } });

async function settle(conversation: string, ...turns: string[]): Promise<void> {
  for (const turn of turns) {
    await client.enqueueTurn({ conversation, agent: 'nobody', turn, input: 'hello' });
    await client.cancel(conversation, turn);
  }
}

test('turnfold events prints one line per event, as text or JSON, and starts after the event that --after names', async () => {
  await settle('c1', 't1', 't2');
  const run = await turnfold('events', 'c1');
  expect(run).toMatchObject({ code: 0, stderr: '' });
  const lines = run.stdout.trim().split('\n');
  expect(lines).toHaveLength(2);
  expect(lines[0]).toMatch(/^\d+-\d+ {2}20\d\d-\S+Z {2}turn t1 canceled$/);
  expect(lines[1]).toMatch(/ {2}turn t2 canceled$/);
  const all = readJsonLines((await turnfold('events', 'c1', '--json')).stdout);
  expect(all).toMatchObject([{ type: 'turn_settled', turn: 't1', state: 'canceled' }, { turn: 't2' }]);
  const [first, second] = all.map(({ id }) => String(id));
  expect(readJsonLines((await turnfold('events', 'c1', '--json', '--after', first ?? '')).stdout)).toEqual([all[1]]);
  const none = await turnfold('events', 'c1', '--after', second ?? '');
  expect(none).toMatchObject({ code: 0, stdout: '', stderr: `no events after ${second}\n` });
});

test('turnfold events notes that older events may be missing', async () => {
  await settle('c2', 't1');
  const run = await turnfold('events', 'c2', '--after', '5-1');
  expect(run).toMatchObject({ code: 0, stdout: expect.stringMatching(/ {2}turn t1 canceled\n$/) });
  expect(run.stderr).toContain('some may be missing here');
});

test('turnfold events --follow prints new events as they arrive', async () => {
  await settle('c3', 't1');
  const child = startTurnfold(['events', 'c3', '--follow'], { REDIS_URL: redis.url });
  if (child.stdout === null) throw new Error('its output is not piped');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  expect((await lines.next()).value).toMatch(/turn t1 canceled$/);
  await settle('c3', 't2');
  expect((await lines.next()).value).toMatch(/turn t2 canceled$/);
});

test('turnfold events refuses an unknown conversation and an invalid --after', async () => {
  expect(await turnfold('events', 'nobody')).toMatchObject({ code: 1, stderr: expect.stringContaining('not_found: ') });
  const wrong = await turnfold('events', 'c1', '--after', 'yesterday');
  expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('invalid_input: --after: ') });
});

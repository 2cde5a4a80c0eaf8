import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { type OpenClient, openClient } from '../../src/api/client/index.ts';
import { openOwnRedis } from '../cli/own-redis.ts';
import { contentOf, WAIT_MS } from './answered.ts';
import { loadBuild, THIS_TREE } from './build.ts';
import { SHARDS } from './fill.ts';
import { readRelease, unpackRelease } from './release.ts';
import { startBuildWorkers } from './workers.ts';

const { modules: oldModules, remove } = unpackRelease(readRelease());
afterAll(remove);

test('workers of an earlier release and of this tree run side by side during a rollout', async () => {
  const redis = await openOwnRedis();
  const old = await startBuildWorkers(redis.url, oldModules);
  const oldClient = await (await loadBuild(oldModules)).openClient({ redisUrl: redis.url, shards: SHARDS });
  onTestFinished(() => oldClient.close());
  const views: Promise<unknown>[] = [];
  const send = async (client: OpenClient, from: number): Promise<void> => {
    for (let at = from; at < from + 40; at += 1) {
      const [conversation, turn] = [`c${at % 10}`, `t${at}`];
      const input = at % 4 === 0 ? 'call echo' : `turn ${at}`;
      await client.enqueueTurn({ conversation, turn, agent: 'talker', input });
      views.push(contentOf(client, conversation, turn).then((content) => [at, content]));
    }
    await client.enqueueTurn({ conversation: `w${from}`, turn: 't1', agent: 'talker', input: 'call risk' });
  };
  await send(oldClient, 0);
  const current = await startBuildWorkers(redis.url, THIS_TREE);
  const client = await openClient({ redisUrl: redis.url, shards: SHARDS });
  onTestFinished(() => client.close());
  await send(client, 40);
  await send(oldClient, 80);
  await old.stop();
  await send(client, 120);
  for (const id of ['w0', 'w40', 'w80', 'w120']) {
    await vi.waitFor(async () => expect((await client.result(id, 't1')).state).toBe('waiting'), WAIT_MS);
    const [call] = (await client.result(id, 't1')).waiting?.calls ?? [];
    await client.answer(id, 't1', { [call?.id ?? '']: { approved: true } });
    expect(await contentOf(client, id, 't1')).toBe('risked');
  }
  const expected = Array.from({ length: 160 }, (_, at) => [at, at % 4 === 0 ? 'echoed' : `heard turn ${at}`]);
  expect(await Promise.all(views)).toEqual(expected);
  expect([...old.corrupt, ...current.corrupt]).toEqual([]);
  await current.stop();
});

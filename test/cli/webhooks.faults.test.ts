import { Webhook } from 'standardwebhooks';
import { expect, onTestFinished, test } from 'vitest';
import { openClient } from '../../src/api/client/index.ts';
import { openReceiver } from '../webhooks/receiver.ts';
import { openOwnRedis } from './own-redis.ts';
import { startWorkerProcess } from './worker-process.ts';

test('a worker that is killed during a request to a webhook loses no event, and its successor sends all in order', async () => {
  const { url: redisUrl } = await openOwnRedis();
  const env = { REDIS_URL: redisUrl, TURNFOLD_WEBHOOK_ALLOW_PRIVATE: 'true' };
  let isHung = true;
  const { url, received } = await openReceiver((response) => {
    if (!isHung) response.writeHead(204).end();
  });
  const client = await openClient({ redisUrl });
  onTestFinished(() => client.close());
  const { secret } = await client.webhooks.add({ tenant: '_', url, events: ['turn.settled'] });
  const killed = startWorkerProcess(env);
  const turns = ['t1', 't2', 't3'];
  for (const turn of turns) await client.enqueueTurn({ conversation: 'c1', agent: 'workspace', turn, input: 'hello' });
  for (const turn of turns) await client.result('c1', turn, { waitMs: 60_000 });
  await expect.poll(() => received.length).toBe(1);
  killed.process.kill('SIGKILL');
  await killed.untilExit();
  isHung = false;
  startWorkerProcess(env);
  // The claim of the killed worker ends after 30 s.
  await expect.poll(() => received.length, { timeout: 120_000 }).toBe(4);
  const verifier = new Webhook(secret);
  const payloads = received.map(({ body, headers }) => verifier.verify(body, headers as Record<string, string>));
  expect(payloads).toMatchObject(['t1', 't1', 't2', 't3'].map((turn) => ({ data: { conversation: 'c1', turn } })));
});

import { Webhook } from 'standardwebhooks';
import { expect, onTestFinished, test } from 'vitest';
import { openClient } from '../../src/api/client/index.ts';
import { startWorkers } from '../../src/host/start-workers.ts';
import { scriptedModel } from '../../src/providers/scripted.ts';
import { openReceiver } from '../webhooks/receiver.ts';
import { openOwnRedis } from './own-redis.ts';
import { useOwnWorkers } from './own-workers.ts';
import { readJsonLines, runTurnfold } from './run-turnfold.ts';

const model = scriptedModel({ decide: () => ({ content: 'heard' }) });
const agent = { name: 'talker', system: '', tools: [], policy: {}, model };
const own = useOwnWorkers(agent);
const { turnfold } = own;

test('turnfold webhooks add prints the secret once, and workers that allow private addresses send signed events', async () => {
  const { url: redisUrl } = await openOwnRedis();
  const run = (...args: string[]) => runTurnfold(args, { env: { REDIS_URL: redisUrl } });
  const workers = await startWorkers({ redisUrl, agents: [agent], webhooks: { allowPrivate: true } });
  onTestFinished(async () => void (await workers.close()));
  const client = await openClient({ redisUrl });
  onTestFinished(() => client.close());
  const { url, received } = await openReceiver();
  const added = await run('webhooks', 'add', url, '--tenant', 'shop', '--events', 'turn.settled');
  expect(added).toMatchObject({ code: 0 });
  const secret = added.stdout.trim();
  expect(secret).toMatch(/^whsec_/);
  const [{ id: webhook } = { id: '' }] = await client.webhooks.list({ tenant: 'shop' });
  const tested = await run('webhooks', 'test', webhook);
  expect(tested).toMatchObject({ code: 0, stdout: expect.stringMatching(/ {2}delivered in \d+ ms\n$/) as string });
  const [sent] = received.splice(0);
  expect(new Webhook(secret).verify(sent?.body ?? '', sent?.headers as Record<string, string>)).toEqual({
    type: 'webhook.test',
    timestamp: expect.stringMatching(/^20/) as string,
    data: { tenant: 'shop', webhook },
  });
  expect((await run('webhooks', 'list', '--json')).stdout).not.toContain(secret);
  const turn = { tenant: 'shop', conversation: 'c1', agent: 'talker', input: 'hello' };
  await client.enqueueTurn({ ...turn, turn: 't1' });
  await client.enqueueTurn({ ...turn, turn: 't2' });
  await client.enqueueTurn({ ...turn, tenant: 'other' });
  await expect.poll(() => received.length).toBe(2);
  const verifier = new Webhook(secret);
  const payloads = received.map(({ body, headers }) => verifier.verify(body, headers as Record<string, string>));
  expect(payloads).toMatchObject([
    { type: 'turn.settled', data: { tenant: 'shop', conversation: 'c1', turn: 't1', state: 'completed' } },
    { type: 'turn.settled', data: { tenant: 'shop', conversation: 'c1', turn: 't2', state: 'completed' } },
  ]);
});

test('workers refuse a private address, and webhooks list, doctor and retry show it', async () => {
  const { received, port } = await openReceiver();
  const added = await turnfold('webhooks', 'add', `https://localhost:${port}/`, '--tenant', 'inside', '--json');
  const { id } = JSON.parse(added.stdout) as { id: string };
  await own.client.enqueueTurn({ tenant: 'inside', conversation: 'c1', agent: 'talker', input: 'hello' });
  const list = async () => readJsonLines((await turnfold('webhooks', 'list', '--tenant', 'inside', '--json')).stdout);
  await expect.poll(list).toMatchObject([{ id, state: 'failing', lastFailure: 'private or special address refused' }]);
  expect(received).toEqual([]);
  expect((await turnfold('webhooks', 'list', '--tenant', 'inside')).stdout).toContain('failing');
  const { checks } = JSON.parse((await turnfold('doctor', '--json')).stdout) as { checks: { name: string }[] };
  expect(checks.find(({ name }) => name === 'webhooks')).toMatchObject({ state: 'warning' });
  const tested = await turnfold('webhooks', 'test', id, '--json');
  expect(tested.code).toBe(1);
  expect(JSON.parse(tested.stdout)).toMatchObject({ status: 'failed', why: 'private or special address refused' });
  expect((await turnfold('webhooks', 'retry', id)).stdout).toContain('again within a minute');
  expect((await turnfold('webhooks', 'remove', id)).stdout).toBe(`${id}  removed\n`);
  expect(await list()).toEqual([]);
});

test.each([
  ['url', 'invalid_input', ['add', 'ftp://example.com']],
  ['url', 'invalid_input', ['add', 'https://user:word@example.com']],
  ['--events', 'invalid_input', ['add', 'https://example.com', '--events', 'all']],
  ['--tenant', 'invalid_input', ['add', 'https://example.com', '--tenant', 'a b']],
  ['webhook', 'not_found', ['remove', 'nothing']],
  ['webhook', 'not_found', ['retry', 'nothing']],
  ['webhook', 'not_found', ['test', 'nothing']],
])('turnfold webhooks refuses a wrong %s with %s: %j', async (name, code, args) => {
  const run = await turnfold('webhooks', ...args);
  expect(run).toMatchObject({ code: 1, stdout: '' });
  expect(run.stderr).toContain(`${code}: ${name}: `);
});

test('a tenant has at most 16 webhooks', async () => {
  const add = () => own.client.webhooks.add({ tenant: 'many', url: 'https://example.com/' });
  for (let count = 0; count < 16; count += 1) await add();
  await expect(add()).rejects.toMatchObject({ code: 'invalid_input', field: undefined });
});

import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { createDurableTransport } from '../../src/chat/index.ts';
import { scriptedModel } from '../../src/providers/scripted.ts';
import { readEvents, send } from '../http/fixture.ts';
import { startServe } from '../http/serve-process.ts';
import { useOwnWorkers } from './own-workers.ts';
import { endOf, runTurnfold } from './run-turnfold.ts';

const env = { REDIS_URL: inject('redisUrl') };

test('turnfold serve answers on 127.0.0.1, reports its metrics, and ends its streams and itself at SIGTERM', async () => {
  const { process: server, url, metrics, msg } = await startServe(env);
  expect(msg).toContain('for this machine only');
  const conversation = `serve-${process.pid}`;
  const path = `/v1/conversations/${conversation}`;
  const accepted = await send(`${url}${path}/turns`, 'POST', { body: { agent: 'nobody', input: 'hello' } });
  expect(accepted.status).toBe(202);
  const stream = readEvents(`${url}${path}/events`, { isEnough: () => false });
  await expect.poll(async () => await (await fetch(metrics)).text()).toMatch(/^turnfold_http_readers 1$/m);
  const page = await (await fetch(metrics)).text();
  expect(page).toMatch(/turnfold_http_requests_total\{operation="enqueueTurn",status="202"\} 1/);
  expect((await fetch(metrics.replace('/metrics', '/ready'))).status).toBe(200);
  await send(`${url}${path}`, 'DELETE');
  server.kill('SIGTERM');
  expect(await stream).toEqual([]);
  expect((await endOf(server)).code).toBe(0);
});

test('turnfold serve without keys refuses an address that other machines reach', async () => {
  const { code, stderr } = await runTurnfold(['serve', '--host', '0.0.0.0'], { env });
  expect(code).toBe(1);
  expect(stderr).toContain('without --keys, only a loopback address is allowed');
});

test.for([
  [['--cors', '*'], '--cors'],
  [['--cors', 'https://shop.example, null'], '--cors'],
  [['--allowed-hosts', 'api.example.com,*'], '--allowed-hosts'],
] as const)('turnfold serve without keys refuses %j, which opens it to every web page', async ([options, field]) => {
  const { code, stderr } = await runTurnfold(['serve', ...options], { env });
  expect(code).toBe(1);
  expect(stderr).toContain(`${field}: `);
  expect(stderr).toContain('add --keys');
});

test('turnfold serve refuses a host name with a port, also with keys', async () => {
  const { code, stderr } = await runTurnfold(['serve', '--keys', '--allowed-hosts', 'api.example.com:443'], { env });
  expect([code, stderr]).toEqual([1, expect.stringContaining('--allowed-hosts: must be host names without scheme')]);
});

test('turnfold inspect without keys refuses to answer under every host name', async () => {
  const { code, stderr } = await runTurnfold(['inspect', '--allowed-hosts', '*'], { env });
  expect([code, stderr]).toEqual([1, expect.stringContaining('--allowed-hosts: * is refused')]);
});

test('routes, pages and metrics of turnfold serve answer under no foreign host name', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'turnfold-page-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'index.html'), 'page');
  const { url, metrics } = await startServe(
    { ...env, TURNFOLD_METRICS_ALLOWED_HOSTS: 'metrics.example.com' },
    '--keys',
    '--page',
    folder,
    '--allowed-hosts',
    'api.example.com',
  );
  const statusUnder = async (address: string, host: string): Promise<number | undefined> => {
    const { hostname, port, pathname } = new URL(address);
    const sent = request({ hostname, port, path: pathname, headers: { host } }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.resume();
    return response.statusCode;
  };
  const routes = [`${url}/v1/openapi.json`, `${url}/index.html`];
  for (const address of routes) {
    expect(await statusUnder(address, 'evil.example')).toBe(403);
    expect(await statusUnder(address, 'api.example.com')).toBe(200);
  }
  for (const page of [metrics, metrics.replace('/metrics', '/health'), metrics.replace('/metrics', '/ready')]) {
    expect(await statusUnder(page, 'evil.example')).toBe(403);
    expect(await statusUnder(page, 'metrics.example.com')).toBe(200);
    expect(await statusUnder(page, '10.0.0.7:9464')).toBe(200);
  }
});

const model = scriptedModel({
  decide: ({ messages }) =>
    messages.at(-1)?.role === 'tool' ? { content: 'said' } : { toolCalls: [{ name: 'ask', arguments: {} }] },
});
const ask = { name: 'ask', description: 'asks a person', input: z.object({}) };
const own = useOwnWorkers({ name: 'asker', system: '', tools: [ask], policy: {}, model });

test('turnfold serve --while-waiting lets a chat message join a turn that waits for an answer', async () => {
  const served = { REDIS_URL: own.redisUrl };
  const strict = await startServe(served, '--agent', 'asker');
  const open = await startServe(served, '--agent', 'asker', '--while-waiting', 'steer', '--on-abort', 'continue');
  const accept = async (url: string, id: string) => {
    const message = { id, role: 'user' as const, parts: [{ type: 'text', text: id }] };
    return await createDurableTransport({ api: `${url}/v1/chat` }).acceptMessage({ chatId: 'c1', message });
  };
  const { turn } = await accept(strict.url, 'm1');
  await expect.poll(() => own.client.result('c1', turn)).toMatchObject({ state: 'waiting' });
  await expect(accept(strict.url, 'm2')).rejects.toMatchObject({ status: 409, code: 'waiting' });
  expect(await accept(open.url, 'm2')).toMatchObject({ turn: 'm2.1' });
});

test.each(['--while-waiting', '--on-abort'])('turnfold serve refuses an unknown value of %s', async (option) => {
  const { code, stderr } = await runTurnfold(['serve', option, 'guess'], { env });
  expect([code, stderr]).toEqual([1, expect.stringContaining(`invalid_config: ${option}`)]);
});

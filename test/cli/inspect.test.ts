import { createInterface } from 'node:readline';
import { expect, inject, onTestFinished, test } from 'vitest';
import { openClient } from '../../src/api/client/index.ts';
import { startServe } from '../http/serve-process.ts';
import { beforeEnd, endOf, runTurnfold, startTurnfold } from './run-turnfold.ts';

const env = { REDIS_URL: inject('redisUrl') };

async function startInspect(...args: string[]) {
  const child = startTurnfold(['inspect', '--port', '0', ...args], env);
  if (child.stdout === null) throw new Error('the output of the server is not piped');
  const { promise, resolve } = Promise.withResolvers<string>();
  createInterface({ input: child.stdout }).on('line', (line) => resolve(line.replace('inspector at ', '')));
  return { child, url: await beforeEnd(child, promise) };
}

test('turnfold inspect serves the page and its routes, refuses changes, and ends at SIGTERM', async () => {
  const { child, url } = await startInspect();
  const page = await fetch(url);
  expect(await page.text()).toContain('<title>turnfold inspector</title>');
  expect(page.headers.get('content-security-policy')).toBe("default-src 'self'; frame-ancestors 'none'");
  expect((await fetch(`${url}v1/conversations?limit=1`)).status).toBe(200);
  expect(await (await fetch(`${url}v1/fleet`)).json()).toMatchObject({ queues: [{ queue: 'turn' }, {}, {}] });
  expect(await (await fetch(`${url}inspect/queues`)).text()).toContain('turnfold queues');
  const refused = await fetch(`${url}v1/conversations/any/compact`, { method: 'POST' });
  expect(refused.status).toBe(403);
  expect(await refused.json()).toMatchObject({ code: 'read_only', detail: expect.stringContaining('--allow-changes') });
  child.kill('SIGTERM');
  expect((await endOf(child)).code).toBe(0);
});

test('turnfold inspect --keys answers the page to everyone, and its routes, which may change conversations with --allow-changes, to a key', async () => {
  const { url } = await startInspect('--allow-changes', '--keys', '--host', '0.0.0.0');
  const local = url.replace('0.0.0.0', '127.0.0.1');
  expect((await fetch(local)).status).toBe(200);
  expect((await fetch(`${local}v1/conversations`)).status).toBe(401);
  const client = await openClient({ redisUrl: env.REDIS_URL });
  onTestFinished(() => client.close());
  const { token } = await client.keys.create({ tenant: '_', scopes: ['admin'] });
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`${local}v1/conversations/not-there/compact`, { method: 'POST', headers });
  expect(await answer.json()).toMatchObject({ code: 'not_found' });
});

test('turnfold inspect without keys refuses an address that other machines reach', async () => {
  const { code, stderr } = await runTurnfold(['inspect', '--host', '0.0.0.0'], { env });
  expect(code).toBe(1);
  expect(stderr).toContain('without --keys, only a loopback address is allowed');
});

test('turnfold serve --inspect serves the page under /inspect', async () => {
  const { url } = await startServe(env, '--inspect');
  const page = await fetch(`${url}/inspect`);
  expect(page.url).toBe(`${url}/inspect/`);
  expect(await page.text()).toContain('<title>turnfold inspector</title>');
  expect((await fetch(`${url}/v1/conversations?limit=1`)).status).toBe(200);
});

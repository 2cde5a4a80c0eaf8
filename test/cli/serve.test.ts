import { expect, inject, test } from 'vitest';
import { readEvents, send } from '../http/fixture.ts';
import { startServe } from '../http/serve-process.ts';
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
  expect(stderr).toContain('without --keys, the server listens on this machine only');
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { openFixture, SHARDS } from './fixture.ts';

const SCRIPT = fileURLToPath(new URL('./lone-start.ts', import.meta.url));

const fixture = await openFixture();

afterAll(() => fixture.close());

/** Output of the start. */
async function startAlone(redisUrl: string, way: string, shards = SHARDS): Promise<string> {
  const child = spawn(process.execPath, [SCRIPT, redisUrl, way, String(shards)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [said] = await Promise.all([text(child.stdout), once(child, 'close')]);
  expect(child.exitCode).toBe(0);
  return said.trim();
}

it('a process ends after its workers are closed', async () => {
  expect(await startAlone(fixture.redisUrl, 'closed')).toBe('started, closed');
});

it('a process ends after a start of workers that failed after Redis was connected', async () => {
  expect(await startAlone(fixture.redisUrl, 'refused', SHARDS + 1)).toBe('incompatible_store');
});

it.each(['redis://HOST', 'redis+sentinel://HOST/main', 'redis+cluster://HOST'])(
  'a process exits if the start of its workers is aborted while the start waits for %s',
  async (address) => {
    // The port is closed afterwards.
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    await once(server.close(), 'close');
    const redisUrl = address.replace('HOST', `127.0.0.1:${port}`);
    expect(await startAlone(redisUrl, 'aborted')).toBe('Error: aborted by the test');
  },
);

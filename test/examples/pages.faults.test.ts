import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type OpenClient, openClient } from '../../src/api/client/index.ts';
import { provideRedis } from '../../src/host/local-redis/provide-redis.ts';
import { startWorkers } from '../../src/host/start-workers.ts';
import { createTalker } from '../client/fixture.ts';
import { readRedisSource } from '../setup/redis-source.ts';

const ROOT = join(import.meta.dirname, '../..');
const PAGES = join(ROOT, 'examples/pages');
const FOLDER = join(PAGES, '.programs');
const SOURCES = pathToFileURL(join(ROOT, 'src/api/')).href;
const isInstalled = existsSync(join(PAGES, 'node_modules/next'));

/** Writes the programs of the page, each under the name in its first line, beside a package `turnfold` of these sources. */
function writePrograms(): void {
  const page = readFileSync(join(ROOT, 'docs/how-to/mount-in-your-server.md'), 'utf8');
  const blocks = [...page.matchAll(/^```js\n\/\/ (\S+)\n([^]*?)^```$/gm)];
  const own = 'node_modules/turnfold';
  const exported = { './client': './client.js', './http': './http.js' };
  const files = new Map([
    ...blocks.map(([, name = '', code = '']) => [name, code] as const),
    ['package.json', JSON.stringify({ type: 'module' })],
    ['app/layout.js', 'export default ({ children }) => <html lang="en"><body>{children}</body></html>;'],
    ['app/page.js', "export default () => 'the shop';"],
    [`${own}/package.json`, JSON.stringify({ name: 'turnfold', version: '0.0.0', type: 'module', exports: exported })],
    // Without this file, the bundler of Next.js follows the paths of the compiler options of this project.
    ['jsconfig.json', '{}'],
    [`${own}/client.js`, `export * from '${SOURCES}client/index.ts';`],
    [`${own}/http.js`, `export * from '${SOURCES}http/index.ts';`],
  ]);
  rmSync(FOLDER, { recursive: true, force: true });
  for (const [name, text] of files) {
    mkdirSync(dirname(join(FOLDER, name)), { recursive: true });
    writeFileSync(join(FOLDER, name), text);
  }
}

async function findPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

let redis: Awaited<ReturnType<typeof provideRedis>>;
let workers: Awaited<ReturnType<typeof startWorkers>>;
let client: OpenClient;
let token: string;
beforeAll(async () => {
  if (!isInstalled) return;
  writePrograms();
  redis = await provideRedis(readRedisSource());
  workers = await startWorkers({ redisUrl: redis.url, agents: [createTalker()], missingAgentMs: 0 });
  client = await openClient({ redisUrl: redis.url });
  ({ token } = await client.keys.create({ tenant: '_', name: 'page', scopes: ['read', 'enqueue', 'answer'] }));
});
afterAll(async () => {
  if (!isInstalled) return;
  await client.close();
  await workers.close();
  await redis.stop();
  rmSync(FOLDER, { recursive: true, force: true });
});

async function startServer(
  args: readonly string[],
  port: number,
): Promise<{ readonly url: string; readonly server: ChildProcess; output: () => string }> {
  const server = spawn(process.execPath, args, {
    cwd: FOLDER,
    env: {
      ...process.env,
      REDIS_URL: redis.url,
      PORT: String(port),
      NEXT_TELEMETRY_DISABLED: '1',
      NODE_ENV: undefined,
    },
  });
  onTestFinished(() => void server.kill('SIGKILL'));
  let output = '';
  for (const stream of [server.stdout, server.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
  const url = `http://127.0.0.1:${port}`;
  const isUp = async () => (await fetch(url).catch(() => undefined))?.status;
  await expect
    .poll(isUp, { timeout: 120_000, interval: 200 })
    .toBe(200)
    .catch((error: unknown) => {
      throw new Error(output, { cause: error });
    });
  return { url, server, output: () => output };
}

const NEXT = [join(PAGES, 'node_modules/next/dist/bin/next'), 'dev', '--hostname', '127.0.0.1'];

describe.skipIf(!isInstalled)('servers that mount turnfold (npm ci --prefix examples/pages)', () => {
  test.each([
    ['Express', ['express-server.js']],
    ['Fastify', ['fastify-server.js']],
    ['Next.js', NEXT],
  ])('a turn, its stream and an approval work through %s, and its other pages stay', async (name, args) => {
    const port = await findPort();
    const { url, output } = await startServer(name === 'Next.js' ? [...args, '--port', String(port)] : args, port);
    const chat = name.toLowerCase().replaceAll(/\W/g, '');
    const call = async (path: string, body?: object) =>
      await fetch(`${url}/agents${path}`, {
        ...(body && { method: 'POST', body: JSON.stringify(body) }),
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      });

    const refused = await fetch(`${url}/agents/v1/access`);
    expect(refused.status, output()).toBe(401);
    const turns = `/v1/conversations/${chat}/turns`;
    const accepted = await call(turns, { agent: 'talker', input: 'hello', turn: 't1' });
    expect([accepted.status, accepted.headers.get('location')]).toEqual([202, `/agents${turns}/t1`]);
    const events = await (await call(`${turns}/t1/events`)).text();
    expect(events).toContain('"content":"heard hello"');

    const parts = [{ type: 'text', text: 'call risk' }];
    const asked = await call('/v1/chat', { id: chat, messages: [{ id: 'm1', role: 'user', parts }] });
    expect(await asked.text()).toContain('tool-approval-request');
    const [{ waiting } = {}] = (await client.openTurns(chat)).turns;
    const id = waiting?.calls[0]?.id ?? '';
    const answered = await call(`/v1/chat/${chat}/answers`, { answers: { [id]: { approved: true } } });
    expect(await answered.json()).toMatchObject({ status: 'answered' });
    await expect.poll(async () => (await client.openTurns(chat)).turns).toEqual([]);
    expect(await (await call(`/v1/chat/${chat}`)).text()).toContain('risked');

    expect((await call(turns, { agent: 'talker' })).status).toBe(422);
    expect(await (await fetch(url)).text()).toContain('the shop');
  });

  test('the versions that ran are the ones in the lock', () => {
    const lock = JSON.parse(readFileSync(join(PAGES, 'package-lock.json'), 'utf8')) as {
      readonly packages: Readonly<Record<string, { readonly version: string }>>;
    };
    for (const name of ['express', 'fastify', 'next']) {
      const { version } = JSON.parse(readFileSync(join(PAGES, 'node_modules', name, 'package.json'), 'utf8')) as {
        version: string;
      };
      expect(version).toBe(lock.packages[`node_modules/${name}`]?.version);
    }
  });
});

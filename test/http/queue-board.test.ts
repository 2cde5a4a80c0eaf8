import type { Queue } from 'bullmq';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { authenticateByKey } from '../../src/api/http/caller.ts';
import { BOARD_PATH, type QueueBoardOptions, withQueueBoard } from '../../src/api/http/queue-board.ts';
import { type Fleet, openFleet } from '../../src/host/health/fleet.ts';
import { SHARDS } from '../client/fixture.ts';
import { type HttpFixture, openHttpFixture } from './fixture.ts';

let http: HttpFixture;
let fleet: Fleet;
beforeAll(async () => {
  http = await openHttpFixture();
  fleet = await openOwnFleet();
  await http.client.enqueueTurn({ conversation: 'c', agent: 'talker', turn: 't1', input: 'hello' });
});
afterAll(async () => {
  await fleet.close();
  await http.close();
});

async function openOwnFleet(): Promise<Fleet> {
  const options = { shards: SHARDS, queueShards: 1, inbox: false, stuckMs: 60_000, grafanaUrl: undefined };
  return await openFleet({ url: http.url, ...options, onError: () => undefined });
}

function openBoard(options: Partial<QueueBoardOptions> = {}) {
  const served = {
    authenticate: 'none',
    queues: fleet.queues,
    allowsChanges: false,
    onError: () => undefined,
    ...options,
  } as const;
  const fetch = withQueueBoard(async () => new Response('behind'), served);
  return async (
    path: string,
    init: { readonly method?: string; readonly headers?: Readonly<Record<string, string>> } = {},
  ) =>
    await fetch(
      new Request(`http://127.0.0.1:8700${path}`, { ...init, headers: { host: '127.0.0.1:8700', ...init.headers } }),
    );
}

const basic = (key: string) => ({ authorization: `Basic ${Buffer.from(`any:${key}`).toString('base64')}` });

test('the queue dashboard serves its files and data below its own path, under the policy of the inspector', async () => {
  const ask = openBoard();
  const page = await ask(BOARD_PATH);
  expect(page.status).toBe(200);
  expect(page.headers.get('content-security-policy')).toBe("default-src 'self'; frame-ancestors 'none'");
  const html = await page.text();
  expect(html).not.toMatch(/(?:href|src)="https?:/);
  const [, script = ''] = / src="(static\/js\/main\.[^"]+)"/.exec(html) ?? [];
  const file = await ask(`${BOARD_PATH}/${script}`);
  expect([file.status, file.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8']);
  const data = (await (await ask(`${BOARD_PATH}/api/queues`)).json()) as {
    queues: { name: string; readOnlyMode: boolean; counts: object }[];
  };
  expect(data.queues.map(({ name, readOnlyMode }) => [name, readOnlyMode])).toEqual([
    ['turn', true],
    ['compaction', true],
    ['summarization', true],
  ]);
  expect(data.queues[0]?.counts).toMatchObject({ prioritized: 1 });
  expect(await (await ask('/v1/usage')).text()).toBe('behind');
});

test('the queues of the queue dashboard are connected before its first request', async () => {
  const fresh = await openOwnFleet();
  onTestFinished(() => fresh.close());
  const counts = fresh.queues.map(({ queue }) => (queue as Queue).getJobCounts('active'));
  expect(await Promise.all(counts)).toEqual(fresh.queues.map(() => ({ active: 0 })));
});

test('the queue dashboard changes nothing unless changes are allowed', async () => {
  const pause = `${BOARD_PATH}/api/queues/turn/pause`;
  const refused = await openBoard()(pause, { method: 'PUT' });
  expect([refused.status, await refused.json()]).toMatchObject([403, { code: 'forbidden', field: 'method' }]);
  const allowed = openBoard({ allowsChanges: true });
  expect((await allowed(pause, { method: 'PUT' })).status).toBe(200);
  expect((await allowed(`${BOARD_PATH}/api/queues/turn/resume`, { method: 'PUT' })).status).toBe(200);
});

test('the queue dashboard needs the admin scope of the default tenant, as a browser password or as a bearer key', async () => {
  const { keys } = http.client;
  const ask = openBoard({ authenticate: authenticateByKey(keys) });
  const tokenOf = async (tenant: string, scope: 'read' | 'admin') =>
    (await keys.create({ tenant, scopes: [scope] })).token;
  const anonymous = await ask(BOARD_PATH);
  expect([anonymous.status, anonymous.headers.get('www-authenticate')]).toEqual([
    401,
    expect.stringMatching(/^Basic /),
  ]);
  expect((await ask(BOARD_PATH, { headers: basic(await tokenOf('_', 'read')) })).status).toBe(403);
  expect((await ask(BOARD_PATH, { headers: basic(await tokenOf('acme', 'admin')) })).status).toBe(403);
  const token = await tokenOf('_', 'admin');
  expect((await ask(BOARD_PATH, { headers: basic(token) })).status).toBe(200);
  expect((await ask(BOARD_PATH, { headers: { authorization: `Bearer ${token}` } })).status).toBe(200);
});

test('web pages of other origins and requests for other host names reach no queue', async () => {
  const ask = openBoard();
  expect((await ask(BOARD_PATH, { headers: { origin: 'https://evil.example' } })).status).toBe(403);
  expect((await ask(BOARD_PATH, { headers: { host: 'evil.example' } })).status).toBe(403);
});

test('without the packages of the queue dashboard, the answer names these packages', async () => {
  const importPackages = async (): Promise<never> => {
    const missing: string = '@bull-board/not-installed';
    return (await import(missing)) as never;
  };
  const answer = await openBoard({ importPackages })(BOARD_PATH);
  expect([answer.status, await answer.json()]).toMatchObject([
    501,
    { code: 'not_offered', field: 'queues', detail: expect.stringContaining('npm install @bull-board/api') as string },
  ]);
});

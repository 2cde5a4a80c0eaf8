import { once } from 'node:events';
import { createServer as createGateway } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { openHttpClient } from '../../src/api/http-client/index.ts';
import { CutWait } from '../../src/api/http-client/transport.ts';
import { askUntil } from '../../src/api/http-client/turns.ts';
import { scriptedModel } from '../../src/providers/scripted.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { serveClient } from '../client/over-http.ts';

const agent = 'slow';
/** ms without a byte after which the proxy cuts a connection. */
const IDLE_MS = 2_000;
/** ms after which a gateway gives up. A shorter request would count as one that reached no server. */
const GATEWAY_MS = 1_200;
/** More cuts than fit into the time for which a call is retried. */
const CUTS = 3;

let answer = Promise.withResolvers<void>();
let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
  const decide = async () => {
    await answer.promise;
    return { content: 'done' };
  };
  await fixture.startWorkers([{ name: agent, system: '', policy: {}, tools: [], model: scriptedModel({ decide }) }]);
});
afterAll(() => fixture.close());

/** A client over HTTP whose proxy cuts each connection that is quiet for a while. */
async function openBehindIdleCuts() {
  const server = await serveClient(fixture.client);
  const sockets = new Set<Socket>();
  let cuts = 0;
  const proxy = createServer((near) => {
    const far = connect(Number(new URL(server.url).port), '127.0.0.1');
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one.setTimeout(IDLE_MS, () => {
        if (near.destroyed) return;
        cuts += 1;
        near.destroy();
        far.destroy();
      });
      one.on('error', () => undefined);
      one.on('close', () => other.destroy());
      one.on('data', (bytes) => other.write(bytes));
    }
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const client = openHttpClient({ url, deadlineMs: 1_000 });
  onTestFinished(async () => {
    await client.close();
    for (const socket of sockets) socket.destroy();
    proxy.close();
    await server.stop();
  });
  return { client, countCuts: () => cuts };
}

test('the client over HTTP keeps waiting for a result although a proxy cuts quiet connections', async () => {
  answer = Promise.withResolvers();
  const { client } = await openBehindIdleCuts();
  await client.enqueueTurn({ conversation: 'result', agent, input: 'hello', turn: 't1' });
  const waits: number[] = [];
  const result = client.result('result', 't1', { waitMs: 60_000 }).finally(() => waits.push(1));
  // The wait outlasts the time for which a failed call is retried several times.
  const other = await Promise.race([result, fixture.client.result('result', 't1', { waitMs: 4 * IDLE_MS })]);
  expect(other.state).toBe('running');
  expect(waits).toEqual([]);
  answer.resolve();
  expect(await result).toMatchObject({ state: 'completed' });
});

test('a stream over HTTP continues although a proxy cuts quiet connections', async () => {
  answer = Promise.withResolvers();
  const { client, countCuts } = await openBehindIdleCuts();
  await client.enqueueTurn({ conversation: 'stream', agent, input: 'hello', turn: 't1' });
  const types = (async () => {
    const seen: string[] = [];
    for await (const { type } of client.stream('stream', 't1')) seen.push(type);
    return seen;
  })();
  await expect.poll(countCuts, { timeout: 30_000 }).toBeGreaterThanOrEqual(CUTS);
  answer.resolve();
  expect((await types).at(-1)).toBe('end');
});

/** A gateway whose server is away: it answers each request after a while. */
async function openGateway(status: number) {
  const waits: string[] = [];
  const gateway = createGateway((request, response) => {
    waits.push(new URL(request.url ?? '', 'http://gateway').searchParams.get('waitMs') ?? '');
    const timer = setTimeout(() => response.writeHead(status).end('<html>away</html>'), GATEWAY_MS);
    response.on('close', () => clearTimeout(timer));
  });
  gateway.listen(0, '127.0.0.1');
  await once(gateway, 'listening');
  const url = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
  const client = openHttpClient({ url, deadlineMs: 2 * GATEWAY_MS });
  onTestFinished(async () => {
    await client.close();
    gateway.closeAllConnections();
    gateway.close();
  });
  return { client, waits };
}

test.each([502, 503, 504])(
  'the client over HTTP reports server_unavailable if a gateway answers %i because the server is away',
  async (status) => {
    const { client, waits } = await openGateway(status);
    const waited = client.result('away', 't1', { waitMs: 3_600_000 });
    await expect(waited).rejects.toMatchObject({ code: 'server_unavailable' });
    expect(waits.slice(0, 2)).toEqual(['20000', '0']);
    expect(waits.slice(1).every((waitMs) => waitMs === '0')).toBe(true);
  },
);

test('the client over HTTP lengthens its waiting requests step by step again after a cut connection', async () => {
  const asked: number[] = [];
  // The clock of the test stands for the time that each request takes.
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  await askUntil(600_000, undefined, async (askedMs) => {
    asked.push(askedMs);
    vi.advanceTimersByTime(asked.length === 1 ? 1_500 : askedMs);
    if (asked.length === 1) throw new CutWait(1_500, new Error('cut'));
    return { answer: undefined, isFinal: asked.length === 9 };
  });
  expect(asked).toEqual([20_000, 0, 1_000, 2_000, 4_000, 8_000, 16_000, 20_000, 20_000]);
});

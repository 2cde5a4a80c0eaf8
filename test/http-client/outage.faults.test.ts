import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { TurnPart } from '../../src/api/client/index.ts';
import { type HttpClient, openHttpClient } from '../../src/api/http-client/index.ts';
import { scriptedModel } from '../../src/providers/scripted.ts';
import { FaultyProxy } from '../chaos/faulty-proxy.ts';
import { findFreePort } from '../chaos/ports.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { type Served, serveClient } from '../client/over-http.ts';
import { messagesOf, ReadTurn } from '../client/read-parts.ts';

const agent = 'speaker';
const DEADLINE_MS = 60_000;
const PIECES = Array.from({ length: 60 }, (_, index) => `piece ${index}, `);

/** Lets the model write its next piece, so that a test decides what happens between two pieces. */
let isNext = Promise.withResolvers<void>();

async function* speak(): AsyncGenerator<string> {
  for (const piece of PIECES) {
    yield piece;
    await isNext.promise;
    isNext = Promise.withResolvers<void>();
  }
}

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
  const model = scriptedModel({ decide: () => ({ content: speak() }) });
  await fixture.startWorkers([{ name: agent, system: '', policy: {}, tools: [], model }]);
});
afterAll(() => fixture.close());

/** A client over HTTP behind a proxy that cuts connections. */
async function openBehindProxy(): Promise<{ proxy: FaultyProxy; client: HttpClient; countRequests: () => number }> {
  const server = await serveClient(fixture.client);
  const proxy = await FaultyProxy.listen(Number(new URL(server.url).port));
  let requests = 0;
  const client = openHttpClient({
    url: proxy.url.replace('redis:', 'http:'),
    deadlineMs: DEADLINE_MS,
    fetch: (...request) => {
      requests += 1;
      return fetch(...request);
    },
  });
  onTestFinished(async () => {
    await client.close();
    await proxy.close();
    await server.stop();
  });
  return { proxy, client, countRequests: () => requests };
}

describe('a client over HTTP behind a proxy that cuts connections', () => {
  test('the client over HTTP repeats a write whose answer is lost under its id, and the write takes effect once', async () => {
    const { proxy, client } = await openBehindProxy();
    let lost = 0;
    // The server has written when its answer passes the proxy.
    proxy.swallow((answer) => {
      if (!answer.startsWith('HTTP/1.1 2') || lost % 2 === 1) {
        lost += 1;
        return false;
      }
      lost += 1;
      setImmediate(() => proxy.cut({ isStillLossy: true }));
      return true;
    });
    const conversation = 'lost-answers';
    const messages = [{ role: 'user' as const, content: 'a' }];
    for (const from of [1, 2, 3]) {
      expect(await client.append({ conversation, agent, messages })).toEqual({ from, to: from });
    }
    const turn = { conversation: 'lost-turns', agent: 'nobody', input: 'x', delayMs: 3_600_000 };
    const own = await client.enqueueTurn(turn);
    expect(own).toMatchObject({ state: 'scheduled', isNew: true });
    const named = await client.enqueueTurn({ ...turn, turn: 't1' });
    expect(named).toMatchObject({ turn: 't1', state: 'scheduled' });
    const { turns } = await fixture.client.openTurns('lost-turns');
    expect(turns.map((open) => open.turn).toSorted()).toEqual([own.turn, 't1'].toSorted());
    expect((await fixture.client.describe(conversation)).head).toBe(3);
    expect(lost).toBeGreaterThanOrEqual(10);
  });

  test('a stream that is cut after every few parts loses and repeats nothing', async () => {
    const { proxy, client, countRequests } = await openBehindProxy();
    const { turn } = await client.enqueueTurn({ conversation: 'cut', agent, input: 'hello' });
    const reader = new ReadTurn();
    const parts: TurnPart[] = [];
    for await (const part of client.stream('cut', turn)) {
      parts.push(part);
      reader.add(part);
      if (parts.length % 3 === 0) proxy.cut();
      isNext.resolve();
    }
    expect(reader.messages).toEqual(messagesOf(await fixture.client.log('cut'), turn));
    expect(new Set(parts.map(({ id }) => id)).size).toBeGreaterThanOrEqual(parts.length - 1);
    expect(parts.at(-1)).toMatchObject({ type: 'end', view: { answer: { content: PIECES.join('') } } });
    const text = parts.flatMap((part) => (part.type === 'text' ? [part.piece] : [])).join('');
    expect(text).toBe(PIECES.join(''));
    expect(countRequests()).toBeGreaterThan(10);
  });

  test('events that happen while the connection is cut arrive exactly once, even if the client has not received an event yet', async () => {
    const { proxy, client } = await openBehindProxy();
    const conversation = 'cut-events';
    const settle = async (turn: string): Promise<void> => {
      await fixture.client.enqueueTurn({ conversation, agent, turn, input: 'x', delayMs: 3_600_000 });
      await fixture.client.cancel(conversation, turn);
    };
    await settle('before');
    const events = client.events(conversation)[Symbol.asyncIterator]();
    const first = events.next();
    const subscribed = async () => (await fixture.redis.pubsub('CHANNELS', `*:ev:${conversation}`)) as string[];
    await expect.poll(subscribed).toHaveLength(1);
    proxy.cut();
    await settle('t1');
    expect(await first).toMatchObject({ value: { type: 'turn_settled', turn: 't1' } });
    for (const turn of ['t2', 't3', 't4']) {
      proxy.cut();
      await settle(turn);
      expect(await events.next()).toMatchObject({ value: { turn } });
    }
    await events.return?.();
    await expect.poll(subscribed).toHaveLength(0);
  });
});

describe('a client over HTTP whose server restarts', () => {
  test('writes and a stream continue while the server is stopped and started again', async () => {
    const port = await findFreePort();
    let server: Served = await serveClient(fixture.client, {}, port);
    const client = openHttpClient({ url: server.url, deadlineMs: DEADLINE_MS });
    onTestFinished(async () => {
      await client.close();
      await server.stop();
    });
    const { turn } = await client.enqueueTurn({ conversation: 'restart', agent, input: 'hello' });
    const reader = new ReadTurn();
    let count = 0;
    const writes: Promise<unknown>[] = [];
    const waiting = client.result('restart', turn, { waitMs: DEADLINE_MS });
    for await (const part of client.stream('restart', turn)) {
      reader.add(part);
      count += 1;
      if (count === 10) {
        await server.stop();
        for (let index = 0; index < 20; index += 1) {
          writes.push(
            client.enqueueTurn({ conversation: `w${index}`, agent: 'nobody', input: 'x', delayMs: 3_600_000 }),
          );
        }
        server = await serveClient(fixture.client, {}, port);
      }
      isNext.resolve();
    }
    expect(await waiting).toMatchObject({ state: 'completed', answer: { content: PIECES.join('') } });
    expect(reader.messages).toEqual(messagesOf(await fixture.client.log('restart'), turn));
    expect(await Promise.all(writes)).toHaveLength(20);
    for (let index = 0; index < 20; index += 1) {
      expect((await fixture.client.openTurns(`w${index}`)).scheduled).toBe(1);
    }
  });

  test('a write that finds no server fails after the deadline with the id under which it can be repeated', async () => {
    const client = openHttpClient({ url: `http://127.0.0.1:${await findFreePort()}`, deadlineMs: 200 });
    const turn = { conversation: 'away', agent, input: 'x', turn: 't1' };
    await expect(client.enqueueTurn(turn)).rejects.toMatchObject({
      code: 'server_unavailable',
      details: { turn: 't1' },
    });
    await expect(client.stream('away', 't1')[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: 'server_unavailable',
    });
    await client.close();
    await expect(client.cancel('away', 't1')).rejects.toMatchObject({ code: 'server_unavailable' });
  });
});

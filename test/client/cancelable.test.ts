import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { describe, expect, test } from 'vitest';
import { eventMethods } from '../../src/api/client/events.ts';
import type { ClientPorts } from '../../src/api/client/ports.ts';
import { streamMethods } from '../../src/api/client/stream.ts';
import type { TurnView } from '../../src/domain/turn.ts';
import type { StreamPage } from '../../src/store/streams.ts';

const view: TurnView = { turn: 't1', state: 'running', agent: 'a', acceptedAt: 1, requestTokens: [] };
const BROKEN = new Error('broken');

/** A page of a stream in which nothing has happened yet. */
const QUIET_PAGE: StreamPage = {
  state: 'running',
  head: 0,
  start: 0,
  log: [],
  hasMoreLog: false,
  entries: [],
  position: '0-0',
  hasMoreEntries: false,
};

/** Ports of a client in a world without events. `open` counts subscriptions and waits. `waits` resolves at the first wait. */
class QuietWorld {
  open = 0;
  readonly #waiting = Promise.withResolvers<void>();
  readonly waits = this.#waiting.promise;

  readonly ports = {
    now: () => 0,
    turns: { readTurn: async () => view },
    events: { readEvents: async () => ({ start: 'kept', events: [], position: '0-0', exists: true }) },
    notifications: {
      wait: (_: unknown, _ms: number, signal?: AbortSignal) => {
        this.open += 1;
        this.#waiting.resolve();
        return new Promise<void>((resolve) => {
          signal?.addEventListener('abort', () => {
            this.open -= 1;
            resolve();
          });
        });
      },
    },
    streams: {
      followTurn: async () => undefined,
      readStream: async () => {
        this.#waiting.resolve();
        return QUIET_PAGE;
      },
    },
    streamNotices: {
      listen: () => {
        this.open += 1;
        return () => {
          this.open -= 1;
        };
      },
    },
  } as unknown as ClientPorts;
}

describe.each<[string, (ports: ClientPorts) => AsyncGenerator<unknown, void, void>]>([
  ['events', (ports) => eventMethods.events(ports, 'c1')],
  ['a stream', (ports) => streamMethods.stream(ports, 'c1', 't1')],
])('a follower of %s that ends while nothing happens', (_, follow) => {
  test('return() on an iterator of client events ends its pending read and releases its resources', async () => {
    const world = new QuietWorld();
    const items = follow(world.ports);
    const next = items.next();
    await world.waits;
    expect(await items.return()).toEqual({ done: true, value: undefined });
    expect(await next).toEqual({ done: true, value: undefined });
    expect(world.open).toBe(0);
  });

  test('throw() on an iterator of client events rethrows the error and releases its resources', async () => {
    const world = new QuietWorld();
    const items = follow(world.ports);
    const next = items.next();
    await world.waits;
    await expect(items.throw(BROKEN)).rejects.toBe(BROKEN);
    expect(await next).toEqual({ done: true, value: undefined });
    expect(world.open).toBe(0);
  });

  test('an HTTP pipeline of client events releases its resources when the browser disconnects', async () => {
    const world = new QuietWorld();
    const readable = Readable.from(follow(world.ports));
    const closed = new Promise((resolve) => readable.once('close', resolve));
    const response = new Writable({ objectMode: true, write: (_chunk, _encoding, done) => done() });
    const sent = pipeline(readable, response);
    sent.catch(() => undefined);
    await world.waits;
    response.destroy();
    await expect(sent).rejects.toMatchObject({ code: 'ERR_STREAM_PREMATURE_CLOSE' });
    await closed;
    expect(world.open).toBe(0);
  });

  test('an iterator of client events that ends before the first read does not subscribe to Redis', async () => {
    const world = new QuietWorld();
    await follow(world.ports).return();
    await expect(follow(world.ports).throw(BROKEN)).rejects.toBe(BROKEN);
    expect(world.open).toBe(0);
  });
});

import type { Readers } from './readers.ts';

/** An event of a stream of server-sent events. */
export interface ServerSentEvent {
  /** Position behind the event. The client sends it back as `Last-Event-ID`. */
  readonly id?: string;
  /** Absent with `data`: the event only sets the position of the client, which sees no event. */
  readonly type?: string;
  readonly data?: unknown;
}

export interface StreamLimits {
  /** Time without an event after which a comment is sent, in ms, so that proxies keep the connection. */
  readonly heartbeatMs: number;
  /** Time in which a client must accept an event, in ms. A client that reads nothing is then disconnected. */
  readonly stalledMs: number;
}

export interface EventSource {
  readonly request: Request;
  readonly readers: Readers;
  readonly limits: StreamLimits;
  /** Starts to follow. The iteration must end or throw once the signal aborts. */
  readonly follow: (signal: AbortSignal) => AsyncIterable<ServerSentEvent>;
}

/** Time in ms that a browser waits before it connects again. */
const RETRY_MS = 1_000;
const HEARTBEAT = ': \n\n';

/**
 * Answers with server-sent events. The next event is read only when the connection takes it. So a client that reads
 * nothing costs one event of memory. After `stalledMs` it is disconnected.
 * @throws too_many_readers
 */
export function answerEvents(source: EventSource): Response {
  const reader = new EventReader(source);
  const body = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => reader.send(controller),
      cancel: () => reader.end(),
    },
    { highWaterMark: 0 },
  );
  return new Response(body, {
    headers: {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      // Tells nginx to pass each event on at once.
      'x-accel-buffering': 'no',
    },
  });
}

type Controller = ReadableStreamDefaultController<Uint8Array>;
type Next = IteratorResult<ServerSentEvent, unknown>;

/** One client of a stream, from its first event to its last. Owns a place among the readers and two timers. */
class EventReader {
  readonly #events: AsyncIterator<ServerSentEvent>;
  readonly #limits: StreamLimits;
  readonly #leaving = new AbortController();
  readonly #leave: () => void;
  readonly #encoder = new TextEncoder();
  #next: Promise<Next> | undefined;
  #stalled: NodeJS.Timeout | undefined;
  #isFirst = true;

  constructor({ request, readers, limits, follow }: EventSource) {
    this.#leave = readers.enter();
    this.#limits = limits;
    const signal = AbortSignal.any([request.signal, readers.closing, this.#leaving.signal]);
    this.#events = follow(signal)[Symbol.asyncIterator]();
    signal.addEventListener('abort', () => this.end(), { once: true });
  }

  async send(controller: Controller): Promise<void> {
    clearTimeout(this.#stalled);
    const text = await this.#read();
    if (text === undefined) {
      this.end();
      controller.close();
      return;
    }
    controller.enqueue(this.#encoder.encode(text));
    this.#stalled = setTimeout(() => {
      this.end();
      controller.error(new Error('the client accepted no event in time'));
    }, this.#limits.stalledMs);
  }

  end(): void {
    clearTimeout(this.#stalled);
    this.#leaving.abort();
    this.#leave();
    // The position of the iteration does not matter any more, so an error at its end does not matter either.
    this.#events.return?.().catch(() => undefined);
  }

  /** Returns the text of the next event, or a heartbeat. Undefined at the end, and if the source fails midway. */
  async #read(): Promise<string | undefined> {
    if (this.#isFirst) {
      this.#isFirst = false;
      return `retry: ${RETRY_MS}\n\n`;
    }
    this.#next ??= this.#events.next();
    const heartbeat = Promise.withResolvers<'heartbeat'>();
    const timer = setTimeout(() => heartbeat.resolve('heartbeat'), this.#limits.heartbeatMs);
    try {
      const next = await Promise.race([this.#next, heartbeat.promise]);
      if (next === 'heartbeat') return HEARTBEAT;
      this.#next = undefined;
      return next.done ? undefined : writeEvent(next.value);
    } catch {
      // E.g. Redis is away for longer than the client retries, or the server stops. The response has begun, so its
      // status is sent. A client that connects again gets the error as a problem, or continues.
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  }
}

function writeEvent({ id, type, data }: ServerSentEvent): string {
  const line = id === undefined ? '' : `id: ${id}\n`;
  return type === undefined ? `${line}\n` : `${line}event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
}

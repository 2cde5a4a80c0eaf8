import { HttpProblem } from './problem.ts';
import type { Readers } from './readers.ts';

export interface ServerSentEvent {
  /** The client sends this position back as `Last-Event-ID`. */
  readonly id?: string;
  /** Absent with `data`: the event only sets the position of the client. */
  readonly type?: string;
  readonly data?: unknown;
}

export interface StreamLimits {
  /** Time without an event after which a comment is sent, in ms, so that proxies keep the connection. */
  readonly heartbeatMs: number;
  /** Time in which a client must accept an event, in ms. A client that reads nothing is then disconnected. */
  readonly stalledMs: number;
}

export interface Connection {
  /** Ends the connection at once, without the rest of its answer. */
  readonly cut: () => void;
}

interface StreamSource {
  readonly request: Request;
  /** Absent: the body of the answer fails instead. */
  readonly cut?: Connection['cut'] | undefined;
  readonly readers: Readers;
  readonly limits: StreamLimits;
}

interface EventSource extends StreamSource {
  /** The iteration must end or throw once the signal aborts. */
  readonly follow: (signal: AbortSignal) => AsyncIterable<ServerSentEvent>;
}

export interface FrameSource extends StreamSource {
  readonly frames: (signal: AbortSignal) => AsyncIterable<string>;
  /** True if clients take a normal end of the stream for a complete answer. A failure then cuts the connection. */
  readonly cutsAtFailure?: boolean;
  /** Text that keeps a quiet connection open (default: a comment of server-sent events). */
  readonly heartbeat?: string;
  readonly onEnd?: () => void;
  readonly headers?: Readonly<Record<string, string>>;
}

const RETRY_MS = 1_000;
export const EVENT_STREAM = 'text/event-stream';
const HEARTBEAT = ': \n\n';

export function answerEvents({ follow, ...source }: EventSource): Response {
  return answerFrames({ ...source, frames: (signal) => writeEvents(follow(signal)) });
}

/** Reads a frame only when the connection takes it, so a client that reads nothing costs one frame of memory. */
export function answerFrames(source: FrameSource): Response {
  const reader = new FrameReader(source);
  const body = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => reader.send(controller),
      cancel: () => reader.end(),
    },
    { highWaterMark: 0 },
  );
  return new Response(body, {
    headers: {
      'content-type': EVENT_STREAM,
      'cache-control': 'no-cache, no-transform',
      // nginx must pass each event on at once.
      'x-accel-buffering': 'no',
      ...source.headers,
    },
  });
}

/** The router answers HEAD as GET and drops the body, which would leave the stream open. */
export function refuseHead({ method }: Request): void {
  if (method !== 'HEAD') return;
  throw new HttpProblem('method_not_allowed', 'a stream has no HEAD. Use GET', { headers: { allow: 'GET' } });
}

type Controller = ReadableStreamDefaultController<Uint8Array>;
type Next = IteratorResult<string, unknown>;

/** Sends a stream to one client. Counts as an open reader, sends heartbeats, and ends if the client accepts nothing in time. */
class FrameReader {
  readonly #source: FrameSource;
  readonly #frames: AsyncIterator<string>;
  readonly #leaving = new AbortController();
  readonly #leave: () => void;
  readonly #encoder = new TextEncoder();
  #next: Promise<Next> | undefined;
  #stalled: NodeJS.Timeout | undefined;

  constructor(source: FrameSource) {
    const { request, readers, frames } = source;
    this.#source = source;
    this.#leave = readers.enter();
    const signal = AbortSignal.any([request.signal, readers.closing, this.#leaving.signal]);
    this.#frames = frames(signal)[Symbol.asyncIterator]();
    request.signal.addEventListener('abort', () => this.end(), { once: true });
  }

  async send(controller: Controller): Promise<void> {
    clearTimeout(this.#stalled);
    let text: string | undefined;
    try {
      text = await this.#read();
    } catch (error) {
      // A client that connects again continues the stream, or gets the error as a problem.
      this.end();
      if (this.#source.cutsAtFailure === true) this.#breakOff(controller, error);
      else controller.close();
      return;
    }
    if (text === undefined) {
      this.end();
      controller.close();
      return;
    }
    controller.enqueue(this.#encoder.encode(text));
    this.#stalled = setTimeout(() => {
      this.end();
      this.#breakOff(controller, new Error('the client accepted no event in time'));
    }, this.#source.limits.stalledMs);
  }

  /** Prefers to cut the connection, because the adapter writes the error of a failed body to the console. */
  #breakOff(controller: Controller, error: unknown): void {
    const { cut } = this.#source;
    if (cut === undefined) controller.error(error);
    else cut();
  }

  end(): void {
    clearTimeout(this.#stalled);
    this.#leaving.abort();
    this.#leave();
    this.#source.onEnd?.();
    this.#frames.return?.().catch(() => undefined);
  }

  async #read(): Promise<string | undefined> {
    this.#next ??= this.#frames.next();
    const { limits, heartbeat = HEARTBEAT } = this.#source;
    const quiet = Promise.withResolvers<'quiet'>();
    const timer = setTimeout(() => quiet.resolve('quiet'), limits.heartbeatMs);
    try {
      const next = await Promise.race([this.#next, quiet.promise]);
      if (next === 'quiet') return heartbeat;
      this.#next = undefined;
      return next.done ? undefined : next.value;
    } finally {
      clearTimeout(timer);
    }
  }
}

async function* writeEvents(events: AsyncIterable<ServerSentEvent>): AsyncGenerator<string> {
  yield `retry: ${RETRY_MS}\n\n`;
  for await (const event of events) yield writeEvent(event);
}

function writeEvent({ id, type, data }: ServerSentEvent): string {
  const line = id === undefined ? '' : `id: ${id}\n`;
  return type === undefined ? `${line}\n` : `${line}event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
}

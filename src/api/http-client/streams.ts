import { z } from 'zod';
import { TurnfoldError } from '../../domain/errors.ts';
import { parseInput } from '../../domain/parse.ts';
import { cancelable } from '../client/cancelable.ts';
import type { EventOrLoss, StreamOptions, TurnPart } from '../client/index.ts';
import type { Methods } from '../contract/client.ts';
import { followSchema } from '../contract/names.ts';
import type { Retries } from '../retries.ts';
import { type EventFrame, readFrames } from './event-frames.ts';
import { writeRequest } from './requests.ts';
import { type HttpCall, LASTING_MS, PassingFailure, type Transport, toFailure } from './transport.ts';

export const httpStreamMethods = {
  stream: (http, name, turn, options = {}) => {
    const describe = () => writeRequest('stream', [name, turn]);
    return cancelable((left) => readParts(followEventStream(http, { options, describe }, left)));
  },
  events: (http, name, options = {}) => {
    const describe = () => writeRequest('events', [name]);
    return cancelable((left) => readEvents(followEventStream(http, { options, describe }, left)));
  },
} satisfies Methods<Transport>;

/** Yields each wait once. A connection that resumes during a wait gets the wait again. */
async function* readParts(events: AsyncIterable<ReceivedEvent>): AsyncGenerator<TurnPart, void, void> {
  let reportedWait = '';
  for await (const { id, data } of events) {
    const part = { ...data, id } as TurnPart;
    if (part.type === 'wait' || part.type === 'behind') {
      const wait = `${part.type === 'behind' ? part.turn : ''} ${part.waiting.since}`;
      if (wait === reportedWait) continue;
      reportedWait = wait;
    }
    yield part;
  }
}

async function* readEvents(events: AsyncIterable<ReceivedEvent>): AsyncGenerator<EventOrLoss, void, void> {
  for await (const { id, type, data } of events) {
    if (type !== 'end') yield { ...data, ...(id !== undefined && { id }) } as EventOrLoss;
  }
}

const optionsSchema = followSchema.extend({ after: z.string().min(1, 'expected the id of an event').optional() });

interface ReceivedEvent {
  readonly id?: string;
  readonly type: string;
  readonly data: object;
}

interface Followed {
  readonly options: StreamOptions;
  /** Runs at the first read, so that errors of the input belong to the iteration. */
  readonly describe: () => HttpCall;
}

/**
 * Follows a stream until its event `end`. After a cut, continues behind the last received event.
 * @param left aborts when the caller leaves the iteration
 * @throws the error of the server, server_unavailable or redis_unavailable after the deadline, the signal's reason
 */
async function* followEventStream(
  transport: Transport,
  { options, describe }: Followed,
  left: AbortSignal,
): AsyncGenerator<ReceivedEvent, void, void> {
  const parsed = parseInput(optionsSchema, options);
  yield* new EventStream(transport, describe(), { ...parsed, left }).read();
}

interface EventStreamOptions extends z.output<typeof optionsSchema> {
  readonly left: AbortSignal;
}

const ENDED_EARLY =
  'the server ended the stream before its last event. Continue with `after` set to the last id that you received';

/** Reads one stream over as many connections as it takes. */
class EventStream {
  readonly #transport: Transport;
  readonly #call: HttpCall;
  readonly #options: EventStreamOptions;
  readonly #ended: AbortSignal;
  readonly #until: number | undefined;
  readonly #retries: Retries;
  #last: string | undefined;

  constructor(transport: Transport, call: HttpCall, options: EventStreamOptions) {
    const { signal, left, waitMs } = options;
    this.#transport = transport;
    this.#call = call;
    this.#options = options;
    this.#ended = signal === undefined ? left : AbortSignal.any([signal, left]);
    this.#until = waitMs === undefined ? undefined : performance.now() + waitMs;
    this.#retries = transport.newRetries();
  }

  async *read(): AsyncGenerator<ReceivedEvent, void, void> {
    while (!this.#hasLeft()) {
      const connection = new Connection(this.#ended);
      const failure = yield* this.#readConnection(connection);
      if (failure === undefined) return;
      if (connection.hasLasted) this.#retries.reset();
      const hasTime = await this.#retries.wait({ askedMs: failure.pauseMs, signal: this.#ended });
      if (!hasTime && !this.#hasLeft()) throw failure.error;
    }
  }

  /** @returns why the connection ended before the stream, or undefined if the stream is over */
  async *#readConnection(connection: Connection): AsyncGenerator<ReceivedEvent, PassingFailure | undefined, void> {
    try {
      for await (const { id, type, data } of connection.read(this.#transport, this.#describeRest())) {
        if (this.#hasLeft()) return undefined;
        this.#last = id ?? this.#last;
        if (data === undefined) continue;
        this.#retries.reset();
        yield { ...(id !== undefined && { id }), type, data: JSON.parse(data) as object };
        if (type === 'end') return undefined;
      }
    } catch (error) {
      if (this.#hasLeft()) return undefined;
      const failure = toFailure(error);
      if (failure instanceof PassingFailure) return failure;
      throw failure;
    }
    return new PassingFailure(new TurnfoldError('server_unavailable', ENDED_EARLY));
  }

  #describeRest(): HttpCall {
    const { after } = this.#options;
    const last = this.#last;
    const waitMs = this.#until === undefined ? undefined : Math.max(0, Math.ceil(this.#until - performance.now()));
    return {
      ...this.#call,
      query: { ...this.#call.query, after: last === undefined ? after : undefined, waitMs },
      headers: { accept: 'text/event-stream', ...(last !== undefined && { 'last-event-id': last }) },
    };
  }

  /** @throws the signal's reason */
  #hasLeft(): boolean {
    const { signal, left } = this.#options;
    signal?.throwIfAborted();
    return left.aborted;
  }
}

/** Owns the request and the timer that ends it when nothing arrives. */
class Connection {
  #openedAt = Number.POSITIVE_INFINITY;
  #heardAt = 0;
  readonly #ended: AbortSignal;
  readonly #silent = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(ended: AbortSignal) {
    this.#ended = ended;
  }

  /** True for a connection that was open for a while. A proxy may have cut it, which is no outage. */
  get hasLasted(): boolean {
    const lastedUntil = this.#silent.signal.aborted ? this.#heardAt : performance.now();
    return lastedUntil - this.#openedAt > LASTING_MS;
  }

  async *read(transport: Transport, call: HttpCall): AsyncGenerator<EventFrame, void, void> {
    try {
      this.#watch(transport.silentMs);
      const cut = AbortSignal.any([this.#ended, this.#silent.signal]);
      const { body } = await transport.open(call, cut);
      this.#openedAt = performance.now();
      if (body === null) return;
      for await (const frame of readFrames(body)) {
        // The caller's own time for an event does not count as silence of the server.
        clearTimeout(this.#timer);
        this.#heardAt = performance.now();
        yield frame;
        this.#watch(transport.silentMs);
      }
    } finally {
      clearTimeout(this.#timer);
    }
  }

  #watch(limitMs: number): void {
    const silence = new Error(`the server sent nothing for ${limitMs} ms`);
    this.#timer = setTimeout(() => this.#silent.abort(silence), limitMs);
  }
}

import { z } from 'zod';
import { TurnfoldError } from '../../domain/errors.ts';
import { parseInput } from '../../domain/parse.ts';
import { cancelable } from '../client/cancelable.ts';
import type { EventOrLoss, TurnPart } from '../client/index.ts';
import type { Methods } from '../contract/client.ts';
import { followSchema } from '../contract/names.ts';
import { readFrames } from './event-frames.ts';
import { writeRequest } from './requests.ts';
import { type HttpCall, LASTING_MS, PassingFailure, type Transport, toFailure } from './transport.ts';

export const httpStreamMethods = {
  stream: (http, name, turn, options = {}) => {
    const describe = () => writeRequest('stream', [name, turn]).call;
    return cancelable((left) => readParts(followEventStream(http, { options, describe }, left)));
  },
  events: (http, name, options = {}) => {
    const describe = () => writeRequest('events', [name]).call;
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

interface FollowOptions {
  readonly after?: string;
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
}

const optionsSchema = followSchema.extend({ after: z.string().min(1, 'expected the id of an event').optional() });

interface ReceivedEvent {
  readonly id?: string;
  readonly type: string;
  readonly data: object;
}

interface Followed {
  readonly options: FollowOptions;
  /** Describes the request. It runs at the first read, so that its errors belong to the iteration. */
  readonly describe: () => HttpCall;
}

/**
 * Follows a stream. After a cut, the stream continues behind the last received event. Only the event `end` ends it.
 * @param left aborts when the caller leaves the iteration
 * @throws the error of the server, server_unavailable or redis_unavailable after the deadline, the signal's reason
 */
async function* followEventStream(
  transport: Transport,
  { options, describe }: Followed,
  left: AbortSignal,
): AsyncGenerator<ReceivedEvent, void, void> {
  const { after, waitMs, signal } = parseInput(optionsSchema, options);
  const call = describe();
  const ended = signal === undefined ? left : AbortSignal.any([signal, left]);
  const until = waitMs === undefined ? undefined : performance.now() + waitMs;
  const retries = transport.newRetries();
  let last: string | undefined;
  for (;;) {
    signal?.throwIfAborted();
    const leftMs = until === undefined ? undefined : Math.max(0, Math.ceil(until - performance.now()));
    const connection = new Connection(ended);
    let failure = new PassingFailure(
      new TurnfoldError(
        'server_unavailable',
        'the server ended the stream before its last event. Continue with `after` set to the last id that you received',
      ),
    );
    try {
      for await (const event of connection.read(transport, resume(call, { after, last, leftMs }))) {
        signal?.throwIfAborted();
        if (event.isNews) retries.reset();
        last = event.id ?? last;
        if (event.data === undefined) continue;
        const { id, type } = event;
        yield { ...(id !== undefined && { id }), type, data: JSON.parse(event.data) as object };
        if (type === 'end') return;
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (left.aborted) return;
      const thrown = toFailure(error);
      if (!(thrown instanceof PassingFailure)) throw thrown;
      failure = thrown;
    }
    if (connection.hasLasted) retries.reset();
    const hasTime = await retries.wait(failure.pauseMs, ended);
    signal?.throwIfAborted();
    if (left.aborted) return;
    if (!hasTime) throw failure.error;
  }
}

interface Position {
  readonly after: string | undefined;
  readonly last: string | undefined;
  readonly leftMs: number | undefined;
}

function resume(call: HttpCall, { after, last, leftMs }: Position): HttpCall {
  return {
    ...call,
    query: { ...call.query, after: last === undefined ? after : undefined, waitMs: leftMs },
    headers: { accept: 'text/event-stream', ...(last !== undefined && { 'last-event-id': last }) },
  };
}

interface ConnectionEvent {
  readonly id?: string;
  readonly type: string;
  readonly data?: string;
  readonly isNews: boolean;
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

  /** True for a connection that was open for a while. A proxy may have cut it, because nothing happened on it. */
  get hasLasted(): boolean {
    const lastedUntil = this.#silent.signal.aborted ? this.#heardAt : performance.now();
    return lastedUntil - this.#openedAt > LASTING_MS;
  }

  async *read(transport: Transport, call: HttpCall): AsyncGenerator<ConnectionEvent, void, void> {
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
        yield { ...frame, isNews: frame.data !== undefined };
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

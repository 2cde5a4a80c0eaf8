import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { WatchedRequest } from './answer-stream.ts';
import { EventParser } from './event-parser.ts';
import { readNextCallAt } from './rate-limits.ts';

export const END_MARK = Symbol('end mark');

interface SendOptions {
  readonly signal: AbortSignal;
  readonly fetchOptions: { readonly dispatcher: Dispatcher };
}

interface StreamedCall<Event> {
  readonly dispatcher: Dispatcher;
  readonly request: Pick<WatchedRequest, 'signal' | 'onEvent'>;
  readonly send: (options: SendOptions) => Promise<Response>;
  /**
   * Decodes one event as the provider's SDK does. Undefined: the SDK skips the event.
   * @throws the SDK's error for an event that reports an error
   */
  readonly decode: (data: string, name: string | undefined, headers: Headers) => Event | undefined | typeof END_MARK;
  readonly classify: (error: unknown) => Error;
  /** Returns true if the answer is complete. */
  readonly take: (event: Event) => boolean;
}

interface StreamEnd {
  readonly isMarked: boolean;
}

interface ReceivedAnswer extends StreamEnd {
  /** ms since epoch before which the provider would refuse the next call. Absent if the provider gave no such time. */
  readonly nextCallAt: number | undefined;
}

/**
 * Sends a request through an SDK, and calls `take` with each event of the response when it arrives.
 *
 * The SDK sends the request and reads HTTP errors, but its stream is not used. The SDK's iterators and the web stream
 * below them cost more than all other work for an event. So three parts replace them:
 * 1. `ResponseBytes` takes the bytes from the HTTP client, by an interceptor of undici.
 * 2. `EventParser` finds the server-sent events in the bytes.
 * 3. `EventReading` decodes each event, and ends once: with the answer, the end of the stream, or an error.
 *
 * Errors of the provider and of the network become `ModelError`s. Errors of `take` are bugs and are thrown unchanged.
 * @throws ModelError if the call fails, or the signal's reason
 */
export async function receiveEvents<Event>(call: StreamedCall<Event>): Promise<ReceivedAnswer> {
  const { signal } = call.request;
  signal.throwIfAborted();
  // Each request has its own signal, because an SDK may keep its listener until the body is collected as garbage.
  const connection = new AbortController();
  const bytes = new ResponseBytes(call.dispatcher);
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => {
    connection.abort(signal.reason);
    aborted.reject(signal.reason);
  };
  signal.addEventListener('abort', abort, { once: true });
  try {
    const options = { signal: connection.signal, fetchOptions: { dispatcher: bytes.dispatcher } };
    const response = await Promise.race([send(call, options), aborted.promise]);
    const reading = new EventReading(call, response.headers);
    bytes.read(response, reading);
    const end = await Promise.race([reading.ended, aborted.promise]);
    signal.throwIfAborted();
    bytes.release();
    return { ...end, nextCallAt: readNextCallAt(response.headers, Date.now()) };
  } catch (error) {
    connection.abort();
    bytes.abort();
    throw error;
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

async function send<Event>(call: StreamedCall<Event>, options: SendOptions): Promise<Response> {
  try {
    return await call.send(options);
  } catch (error) {
    throw call.classify(error);
  }
}

class EventReading<Event> implements BytesTaker {
  readonly #call: StreamedCall<Event>;
  readonly #headers: Headers;
  readonly #end = Promise.withResolvers<StreamEnd>();
  readonly #parser = new EventParser((data, name) => this.#read(data, name));
  #hasEnded = false;

  constructor(call: StreamedCall<Event>, headers: Headers) {
    this.#call = call;
    this.#headers = headers;
  }

  get ended(): Promise<StreamEnd> {
    return this.#end.promise;
  }

  take(bytes: Uint8Array): void {
    if (!this.#hasEnded) this.#parser.push(bytes);
  }

  end(): void {
    if (this.#hasEnded) return;
    this.#parser.end();
    this.#settle({ isMarked: false });
  }

  fail(error: unknown): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    try {
      this.#end.reject(this.#call.classify(error));
    } catch (reason) {
      this.#end.reject(reason);
    }
  }

  #settle(end: StreamEnd): void {
    this.#hasEnded = true;
    this.#end.resolve(end);
  }

  #read(data: string, name: string | undefined): void {
    // The parser may hold more events after the event that ended the answer.
    if (this.#hasEnded) return;
    const { request, decode, take } = this.#call;
    let event: Event | undefined | typeof END_MARK;
    try {
      event = decode(data, name, this.#headers);
    } catch (error) {
      return this.fail(error);
    }
    if (event === undefined) return;
    if (event === END_MARK) return this.#settle({ isMarked: true });
    try {
      request.onEvent?.();
      if (take(event)) this.#settle({ isMarked: false });
    } catch (bug) {
      this.#hasEnded = true;
      this.#end.reject(bug);
    }
  }
}

interface BytesTaker {
  take(bytes: Uint8Array): void;
  end(): void;
  fail(error: unknown): void;
}

/**
 * Milliseconds that a server has to end a complete response, so that the next request can use the connection. Servers
 * end a response in the packet with the last event, or in the next packet.
 */
const END_MS = 1_000;

/** Takes the bytes of one response before `fetch` does. `fetch` still follows redirects and aborts the connection. */
class ResponseBytes {
  readonly dispatcher: Dispatcher;
  /**
   * True if this object takes the bytes of the response. The bytes of an error, and compressed or JSON data, stay in
   * the body.
   */
  #isTaken = false;
  readonly #early: Uint8Array[] = [];
  #taker: BytesTaker | undefined;
  #end: { readonly error?: Error } | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  /** Keeps the response referenced, because undici cancels a response that was collected as garbage. */
  #response: Response | undefined;

  constructor(dispatcher: Dispatcher) {
    this.dispatcher = dispatcher.compose(
      (dispatch) => (options, handler) => dispatch(options, this.#listenBefore(handler)),
    );
  }

  /** Passes the bytes that have already arrived at once, and then each chunk when it arrives. */
  read(response: Response, taker: BytesTaker): void {
    this.#response = response;
    this.#taker = taker;
    if (!this.#isTaken) void this.#readBody(response, taker);
    for (const bytes of this.#early.splice(0)) taker.take(bytes);
    if (this.#end !== undefined) this.#finish(this.#end);
  }

  release(): void {
    this.#taker = undefined;
    if (this.#end === undefined) setTimeout(() => this.abort(), END_MS).unref();
  }

  abort(): void {
    this.#taker = undefined;
    if (this.#end === undefined) this.#controller?.abort(new Error('the answer needs no more of the response'));
  }

  #listenBefore(handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler {
    return {
      onRequestStart: (controller, context) => {
        this.#begin(controller);
        handler.onRequestStart?.(controller, context);
      },
      onRequestUpgrade: (...upgrade) => handler.onRequestUpgrade?.(...upgrade),
      onResponseStart: (controller, status, headers, message) => {
        if (this.#controller === controller) this.#isTaken = status === 200 && isPlainStream(headers);
        handler.onResponseStart?.(controller, status, headers, message);
      },
      onResponseData: (controller, chunk) => {
        if (!this.#isTaken || this.#controller !== controller) handler.onResponseData?.(controller, chunk);
        else if (this.#response === undefined) this.#early.push(chunk);
        else this.#taker?.take(chunk);
      },
      onResponseEnd: (controller, trailers) => {
        handler.onResponseEnd?.(controller, trailers);
        if (this.#controller === controller) this.#finish({});
      },
      onResponseError: (controller, error) => {
        handler.onResponseError?.(controller, error);
        if (this.#controller === controller) this.#finish({ error });
      },
    };
  }

  /** Forgets the response before a redirect, because its callbacks may still arrive. */
  #begin(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#isTaken = false;
    this.#early.length = 0;
    this.#end = undefined;
  }

  #finish(end: { readonly error?: Error }): void {
    this.#end = end;
    const taker = this.#taker;
    if (!this.#isTaken || taker === undefined) return;
    this.#response = undefined;
    this.#taker = undefined;
    if (end.error === undefined) taker.end();
    else taker.fail(end.error);
  }

  async #readBody({ body }: Response, taker: BytesTaker): Promise<void> {
    try {
      for await (const bytes of body ?? []) {
        if (this.#taker === undefined) return;
        taker.take(bytes);
      }
      taker.end();
    } catch (error) {
      taker.fail(error);
    }
  }
}

/**
 * True for a body that is not labeled as JSON and is not compressed. If a body is labeled as JSON, `providerFetch`
 * finds out whether it is a stream.
 */
function isPlainStream(headers: IncomingHttpHeaders): boolean {
  return headers['content-encoding'] === undefined && !String(headers['content-type']).includes('application/json');
}

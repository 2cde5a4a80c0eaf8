import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { WatchedRequest } from './answer-stream.ts';
import { EventParser } from './event-parser.ts';
import type { errorClassifier, FailedCall } from './provider-errors.ts';
import { readNextCallAt } from './rate-limits.ts';

export const END_MARK = Symbol('end mark');

interface SendOptions {
  readonly signal: AbortSignal;
  readonly fetchOptions: { readonly dispatcher: Dispatcher };
}

/** The client of an SDK, its HTTP dispatcher, and functions that use the SDK's code. */
export interface SdkAccess<Client, Event> {
  readonly client: Client;
  readonly dispatcher: Dispatcher;
  /**
   * Decodes one event as the SDK does. Undefined: the SDK skips the event.
   * @throws the SDK's error for an event that reports an error
   */
  readonly decode: (data: string, name: string | undefined, headers: Headers) => Event | undefined | typeof END_MARK;
  readonly classify: ReturnType<typeof errorClassifier>;
}

interface StreamedCall<Event> {
  readonly access: Omit<SdkAccess<unknown, Event>, 'client'>;
  readonly request: Pick<WatchedRequest, 'signal' | 'onEvent'>;
  readonly describe: FailedCall['describe'];
  readonly send: (options: SendOptions) => Promise<Response>;
  /** Returns true if the answer is complete. */
  readonly take: (event: Event) => boolean;
}

interface StreamEnd {
  readonly isMarked: boolean;
}

interface ReceivedAnswer extends StreamEnd {
  /** ms since epoch before which the provider would refuse the next call. Absent if the provider named no time. */
  readonly nextCallAt: number | undefined;
}

/**
 * Sends a request through an SDK, and calls `take` with each event of the response when it arrives.
 *
 * The SDK sends the request and reads HTTP errors. Its stream costs more than all other work for an event, because of
 * iterators and a web stream below them. Three parts replace it:
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
  // An SDK may keep its listener until the body is collected as garbage, so each request has its own signal.
  const connection = new AbortController();
  const bytes = new ResponseBytes(call.access.dispatcher);
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
    throw classify(call, error);
  }
}

/** @throws the signal's reason if the signal ended the call */
function classify<Event>({ access, request: { signal }, describe }: StreamedCall<Event>, error: unknown): Error {
  return access.classify(error, { signal, describe });
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
      this.#end.reject(classify(this.#call, error));
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
    const { access, request, take } = this.#call;
    let event: Event | undefined | typeof END_MARK;
    try {
      event = access.decode(data, name, this.#headers);
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
 * Milliseconds until a server must have ended a complete response, so that the next request can use the connection.
 * Servers end a response in the packet with the last event, or in the next one.
 */
const END_MS = 1_000;

/** Takes the bytes of a response before `fetch` does, which still follows redirects and aborts the connection. */
class ResponseBytes {
  readonly dispatcher: Dispatcher;
  /** False for an error, and for compressed or JSON data, which stay in the body. */
  #isTaken = false;
  readonly #early: Uint8Array[] = [];
  #taker: BytesTaker | undefined;
  #end: { readonly error?: Error } | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  /** Kept here, because undici cancels a response that was collected as garbage. */
  #response: Response | undefined;

  constructor(dispatcher: Dispatcher) {
    this.dispatcher = dispatcher.compose(
      (dispatch) => (options, handler) => dispatch(options, this.#listenBefore(handler)),
    );
  }

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

  /** Begins a response. A redirect begins another response, and the first one's data must not be taken. */
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

/** False for a compressed body, and for a body labeled as JSON: `providerFetch` finds out whether it is a stream. */
function isPlainStream(headers: IncomingHttpHeaders): boolean {
  return headers['content-encoding'] === undefined && !String(headers['content-type']).includes('application/json');
}

import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';

export interface BytesTaker {
  take(bytes: Uint8Array): void;
  end(): void;
  fail(error: unknown): void;
}

/**
 * ms that a server has to end a response whose answer is complete. If the server does so, the next request can use the
 * connection. Servers end the response in the packet with the last event, or in the packet after it.
 */
const END_MS = 1_000;

/**
 * Takes the bytes of one response from the HTTP client, before `fetch` makes a web stream of them. The web stream costs
 * more for each chunk than the reading of its events. `fetch` still follows redirects and aborts the connection. After
 * a redirect, the response is the last one.
 */
export class ResponseBytes {
  /** Sends one request, and takes the bytes of its response. */
  readonly dispatcher: Dispatcher;
  /** True if this object takes the bytes. The bytes of an error, and compressed or JSON data, stay in the body. */
  #isTaken = false;
  readonly #early: Uint8Array[] = [];
  #taker: BytesTaker | undefined;
  #end: { readonly error?: Error } | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  /** Kept until the response has ended, because undici cancels a response that was collected as garbage. */
  #response: Response | undefined;

  constructor(dispatcher: Dispatcher) {
    this.dispatcher = dispatcher.compose(
      (dispatch) => (options, handler) => dispatch(options, this.#listenBefore(handler)),
    );
  }

  /** Passes the bytes to the taker: at once the bytes that have arrived, then each chunk when it arrives. */
  read(response: Response, taker: BytesTaker): void {
    this.#response = response;
    this.#taker = taker;
    if (!this.#isTaken) void this.#readBody(response, taker);
    for (const bytes of this.#early.splice(0)) taker.take(bytes);
    if (this.#end !== undefined) this.#finish(this.#end);
  }

  /** Ends the reading of a response whose answer is complete. */
  release(): void {
    this.#taker = undefined;
    if (this.#end === undefined) setTimeout(() => this.abort(), END_MS).unref();
  }

  /** Closes the connection, unless the response has ended. */
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

  /** Forgets the response before a redirect. Its callbacks may still arrive later, with its own controller. */
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

/** A body with the label of JSON may be no stream, which `providerFetch` finds out. */
function isPlainStream(headers: IncomingHttpHeaders): boolean {
  return headers['content-encoding'] === undefined && !String(headers['content-type']).includes('application/json');
}

import { ChatError, mayPass, readRefusal, refuseRepeated } from './chat-error.ts';
import type { DurableTransportOptions, HeaderValues, RequestExtras } from './transport-types.ts';
import { listenForWakeUps } from './wake-ups.ts';

const FIRST_PAUSE_MS = 250;
/** A defect of the server may stay, and the page has to show it. */
const MAX_DEFECTS = 5;
/** 16 kB/s. A network that is slower needs more than one attempt for a large file. */
const SLOWEST_UPLOAD_PER_MS = 16;
const MOST_DOUBLINGS = 6;

export interface ChatCall extends RequestExtras {
  readonly method: 'GET' | 'POST';
  /** Behind the address of the chat routes, e.g. `/chat-1/stop`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly signal?: AbortSignal | undefined;
}

/** Sends requests of a page until the server answers. */
export class ChatRequests {
  readonly #options: DurableTransportOptions;
  #lost = 0;

  constructor(options: DurableTransportOptions) {
    this.#options = options;
  }

  get isConnected(): boolean {
    return this.#lost === 0;
  }

  /** Repeats a request until its fate is known. @throws ChatError, an error of the page, the signal's reason */
  async send<Body>(call: ChatCall): Promise<Body> {
    const outage = this.openOutage();
    let isRepeated = false;
    try {
      for (;;) {
        const connection = this.connect(call.signal, outage);
        const read = await this.attempt(call, connection, async (response) => {
          return (await connection.observe(response).json()) as Body;
        }).finally(() => connection.close());
        if (read.status === 'answered') return read.value;
        isRepeated = true;
        await outage.wait(read.defect, call.signal);
      }
    } catch (error) {
      throw isRepeated && call.signal?.aborted !== true ? refuseRepeated(error) : error;
    } finally {
      outage.end();
    }
  }

  /**
   * Sends a request once.
   * @returns `lost` if the connection broke or the server is away, so that the fate of the request is unknown
   * @throws ChatError if the server refused, an error of the page, the signal's reason
   */
  async attempt<Value>(
    call: ChatCall,
    connection: Connection,
    read: (response: Response) => Promise<Value>,
  ): Promise<Attempt<Value>> {
    const { signal } = call;
    signal?.throwIfAborted();
    const written = await this.#write(call);
    if (written === undefined) return { status: 'lost' };
    const send = this.#options.fetch ?? globalThis.fetch;
    try {
      connection.begin(written.body?.length ?? 0);
      const response = await send(written.url, { ...written.init, signal: connection.signal });
      connection.hear();
      if (response.ok) return { status: 'answered', value: await read(response) };
      const refusal = await readRefusal(response);
      if (response.status === 500) return { status: 'lost', defect: refusal };
      if (!mayPass(refusal)) throw refusal;
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof ChatError) throw error;
    }
    return { status: 'lost' };
  }

  /** Begins a series of attempts. */
  openOutage(): Outage {
    const { maxPauseMs = 10_000, onConnection } = this.#options;
    return new Outage(maxPauseMs, (change) => {
      const before = this.isConnected;
      this.#lost += change;
      if (before !== this.isConnected) onConnection?.(this.isConnected);
    });
  }

  /** Begins one attempt of a series. */
  connect(left: AbortSignal | undefined, { attempts }: Outage): Connection {
    return new Connection(left, { silentMs: this.#options.silentMs ?? 40_000, attempts });
  }

  /**
   * Writes a request. Another attempt would not mend an error of the page, so the error is thrown.
   * @returns undefined if the function for the headers has no connection, e.g. to fetch a token
   */
  async #write({ method, path, query = {}, headers, body }: ChatCall) {
    const { api = '/v1/chat', headers: given, credentials = 'same-origin', sdkVersion = 7 } = this.#options;
    const pairs = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) if (value !== undefined) pairs.set(name, String(value));
    const url = `${api.replace(/\/$/, '')}${path}${pairs.size === 0 ? '' : `?${pairs.toString()}`}`;
    checkUrl(url, this.#options.fetch !== undefined);
    const text = body === undefined ? undefined : JSON.stringify(body);
    let own: HeaderValues | undefined;
    try {
      own = typeof given === 'function' ? await given() : given;
    } catch (error) {
      if (isWithoutConnection(error)) return undefined;
      throw error;
    }
    const sent = new Headers(own);
    for (const [name, value] of new Headers(headers)) sent.set(name, value);
    sent.set('x-ai-sdk-version', String(sdkVersion));
    if (text !== undefined) sent.set('content-type', 'application/json');
    const init: RequestInit = { method, headers: sent, credentials, ...(text !== undefined && { body: text }) };
    return { url, init, body: text };
  }
}

/** A `fetch` of the page may take any address that can be parsed. @throws TypeError */
function checkUrl(url: string, isOwnFetch: boolean): void {
  const { document, location } = globalThis as unknown as Partial<Record<'document' | 'location', PageAddress>>;
  void new URL(url, isOwnFetch ? 'http://localhost' : (document?.baseURI ?? location?.href));
}

interface PageAddress {
  readonly baseURI?: string;
  readonly href?: string;
}

/** Texts of browsers and runtimes for a `fetch` without a connection. No other property of the error says so. */
const NO_CONNECTION =
  /^(?:Failed to fetch|NetworkError|Load failed|fetch failed|Network request failed|The (?:Internet|network) connection)/i;

function isWithoutConnection(error: unknown): boolean {
  return error instanceof TypeError && NO_CONNECTION.test(error.message);
}

type Attempt<Value> =
  | { readonly status: 'answered'; readonly value: Value }
  /** `defect`: the server answered with a failure of its own. */
  | { readonly status: 'lost'; readonly defect?: ChatError };

/** Pauses between the attempts of one request or stream. */
class Outage {
  readonly #maxPauseMs: number;
  readonly #count: (change: 1 | -1) => void;
  #pauseMs = FIRST_PAUSE_MS;
  #defects = 0;
  #attempts = 0;
  #isOpen = false;

  constructor(maxPauseMs: number, count: (change: 1 | -1) => void) {
    this.#maxPauseMs = maxPauseMs;
    this.#count = count;
  }

  /** Number of failed attempts since the last answer. */
  get attempts(): number {
    return this.#attempts;
  }

  /**
   * Pauses after a failed attempt. A sign that the connection works again ends the pause.
   * @throws the defect if the server has failed too often, the signal's reason
   */
  async wait(defect: ChatError | undefined, signal: AbortSignal | undefined): Promise<void> {
    this.#attempts += 1;
    this.#defects = defect === undefined ? 0 : this.#defects + 1;
    if (defect !== undefined && this.#defects >= MAX_DEFECTS) throw defect;
    if (!this.#isOpen) this.#count(1);
    this.#isOpen = true;
    // Jitter spreads the attempts of all pages after an outage of the server.
    const pauseMs = this.#pauseMs * (0.5 + Math.random() / 2);
    this.#pauseMs = Math.min(2 * this.#pauseMs, this.#maxPauseMs);
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, pauseMs);
    const wake = (): void => resolve();
    const stop = listenForWakeUps(wake);
    signal?.addEventListener('abort', wake);
    await promise;
    clearTimeout(timer);
    stop();
    signal?.removeEventListener('abort', wake);
    signal?.throwIfAborted();
  }

  /** Called once the server answered. A later failure is a new outage. */
  end(): void {
    this.#pauseMs = FIRST_PAUSE_MS;
    this.#defects = 0;
    this.#attempts = 0;
    if (this.#isOpen) this.#count(-1);
    this.#isOpen = false;
  }
}

interface Patience {
  readonly silentMs: number;
  /** Number of attempts so far. */
  readonly attempts: number;
}

/** Ends a connection from which nothing comes any more. */
class Connection {
  readonly signal: AbortSignal;
  readonly #left: AbortSignal | undefined;
  readonly #patience: Patience;
  readonly #cut = new AbortController();
  readonly #stop: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #limitMs: number;
  #heardAt = 0;

  constructor(left: AbortSignal | undefined, patience: Patience) {
    this.#left = left;
    this.#patience = patience;
    this.#limitMs = patience.silentMs;
    this.signal = left === undefined ? this.#cut.signal : AbortSignal.any([left, this.#cut.signal]);
    this.#stop = listenForWakeUps((wakeUp) => {
      // Timers of a page in the background stand still.
      if (wakeUp === 'restored' || performance.now() - this.#heardAt >= this.#limitMs) this.#cut.abort();
    });
    // A reader that has left may never ask for the end of its stream.
    left?.addEventListener('abort', this.close);
    this.hear();
  }

  /** Waits for the answer to a request. Each attempt gives a slow upload twice the time of the last one. */
  begin(characters: number): void {
    const { silentMs, attempts } = this.#patience;
    this.#expect(silentMs + (characters / SLOWEST_UPLOAD_PER_MS) * 2 ** Math.min(attempts, MOST_DOUBLINGS));
  }

  hear(): void {
    this.#expect(this.#patience.silentMs);
  }

  /** Hears each piece of an answer. So a long one may take its time. */
  observe(response: Response): Response {
    const { body } = response;
    if (!body) return response;
    const heard = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform: (piece, controller) => {
        this.hear();
        controller.enqueue(piece);
      },
    });
    return new Response(body.pipeThrough(heard));
  }

  readonly close = (): void => {
    clearTimeout(this.#timer);
    this.#stop();
    this.#left?.removeEventListener('abort', this.close);
    this.#cut.abort();
  };

  #expect(limitMs: number): void {
    this.#limitMs = limitMs;
    this.#heardAt = performance.now();
    clearTimeout(this.#timer);
    if (!this.signal.aborted) this.#timer = setTimeout(() => this.#cut.abort(), limitMs);
  }
}

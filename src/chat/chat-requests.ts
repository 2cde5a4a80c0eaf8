import { ChatError, mayPass, readRefusal, refuseRepeated } from './chat-error.ts';
import type { DurableTransportOptions, RequestExtras } from './transport-types.ts';
import { listenForWakeUps } from './wake-ups.ts';

const FIRST_PAUSE_MS = 250;
/** A defect of the server may stay, and the page has to show it. */
const MAX_DEFECTS = 5;

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

  get silentMs(): number {
    return this.#options.silentMs ?? 40_000;
  }

  /** Repeats a request until its fate is known. @throws ChatError, the signal's reason */
  async send<Body>(call: ChatCall): Promise<Body> {
    const outage = this.openOutage();
    let isRepeated = false;
    try {
      for (;;) {
        const read = await this.attempt(call, async (response) => (await response.json()) as Body);
        if (read.status === 'answered') return read.value;
        isRepeated = true;
        await outage.wait(read.defect, call.signal);
      }
    } catch (error) {
      throw isRepeated && error instanceof ChatError ? refuseRepeated(error) : error;
    } finally {
      outage.end();
    }
  }

  /**
   * Sends a request once.
   * @returns `lost` if the connection broke or the server is away, so that the fate of the request is unknown
   * @throws ChatError if the server refused, the signal's reason
   */
  async attempt<Value>(call: ChatCall, read: (response: Response) => Promise<Value>): Promise<Attempt<Value>> {
    call.signal?.throwIfAborted();
    try {
      const response = await this.#fetch(call);
      if (response.ok) return { status: 'answered', value: await read(response) };
      const refusal = await readRefusal(response);
      if (response.status === 500) return { status: 'lost', defect: refusal };
      if (!mayPass(refusal)) throw refusal;
    } catch (error) {
      call.signal?.throwIfAborted();
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

  async #fetch({ method, path, query = {}, headers, body, signal }: ChatCall): Promise<Response> {
    const { api = '/v1/chat', headers: given, credentials = 'same-origin', sdkVersion = 7 } = this.#options;
    const sent = new Headers(typeof given === 'function' ? await given() : given);
    for (const [name, value] of new Headers(headers)) sent.set(name, value);
    sent.set('x-ai-sdk-version', String(sdkVersion));
    if (body !== undefined) sent.set('content-type', 'application/json');
    const pairs = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) if (value !== undefined) pairs.set(name, String(value));
    const search = pairs.size === 0 ? '' : `?${pairs.toString()}`;
    const send = this.#options.fetch ?? globalThis.fetch;
    return await send(`${api.replace(/\/$/, '')}${path}${search}`, {
      method,
      headers: sent,
      credentials,
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    });
  }
}

export type Attempt<Value> =
  | { readonly status: 'answered'; readonly value: Value }
  /** `defect`: the server answered with a failure of its own. */
  | { readonly status: 'lost'; readonly defect?: ChatError };

/** Pauses between the attempts of one request or stream. */
class Outage {
  readonly #maxPauseMs: number;
  readonly #count: (change: 1 | -1) => void;
  #pauseMs = FIRST_PAUSE_MS;
  #defects = 0;
  #isOpen = false;

  constructor(maxPauseMs: number, count: (change: 1 | -1) => void) {
    this.#maxPauseMs = maxPauseMs;
    this.#count = count;
  }

  /**
   * Pauses after a failed attempt. A sign that the connection works again ends the pause.
   * @throws the defect if the server has failed too often, the signal's reason
   */
  async wait(defect: ChatError | undefined, signal: AbortSignal | undefined): Promise<void> {
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
    if (this.#isOpen) this.#count(-1);
    this.#isOpen = false;
  }
}

import { isTurnfoldError, TurnfoldError } from '../../domain/errors.ts';
import { nameWrite, type RepeatableWrite, Retries } from '../retries.ts';
import type { HttpClientSettings } from './client-options.ts';
import { isPassing, readProblem } from './problem-error.ts';

type QueryValue = string | number | boolean | undefined;

export interface HttpCall {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Segments of the path behind `/v1`. */
  readonly path: readonly string[];
  readonly query?: Readonly<Record<string, QueryValue>>;
  readonly body?: string;
  /** The server refuses the call if the key belongs to another tenant. */
  readonly tenant: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly waitMs?: number;
  readonly signal?: AbortSignal | undefined;
  readonly write?: RepeatableWrite;
}

export interface HttpAnswer<Body> {
  readonly body: Body;
  readonly tenant: string;
  readonly headers: Headers;
}

/** First pause between two attempts. A restarting server usually accepts requests within 100 ms. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 500;
/** First words of the error with which this client ends a request that takes too long. */
const LATE = 'no whole answer';
const TENANT_HEADER = 'turnfold-tenant';

export class PassingFailure extends Error {
  readonly error: TurnfoldError;
  readonly pauseMs: number | undefined;

  constructor(error: TurnfoldError, pauseMs?: number) {
    super(error.message);
    this.error = error;
    this.pauseMs = pauseMs;
  }
}

/** A connection that lasted this long had reached a server, so a proxy may have cut it. */
export const LASTING_MS = 1_000;

/** A request that waited for a result was cut, e.g. by a proxy that ends quiet connections. */
export class CutWait extends Error {
  readonly lastedMs: number;

  constructor(lastedMs: number, cause: unknown) {
    super('the connection was cut before the answer', { cause });
    this.lastedMs = lastedMs;
  }
}

/** Owns the requests in flight, which `close` ends. */
export class Transport {
  readonly #settings: HttpClientSettings;
  readonly #closing = new AbortController();

  constructor(settings: HttpClientSettings) {
    this.#settings = settings;
  }

  /**
   * Sends a call until it succeeds. A write has the same id each time.
   * @throws the error of the server, server_unavailable or redis_unavailable after the deadline, the signal's reason,
   * CutWait
   */
  async send<Body>(call: HttpCall): Promise<HttpAnswer<Body>> {
    const retries = this.newRetries();
    for (;;) {
      const startedAt = performance.now();
      try {
        return await this.#attempt<Body>(call);
      } catch (failure) {
        call.signal?.throwIfAborted();
        if (!(failure instanceof PassingFailure))
          throw isTurnfoldError(failure, 'server_unavailable') ? nameUnsure(failure, call) : failure;
        const lastedMs = performance.now() - startedAt;
        if (lastedMs >= LASTING_MS && wasCut(call, failure)) throw new CutWait(lastedMs, failure);
        const { error, pauseMs: askedMs } = failure;
        if (!(await retries.wait({ askedMs, signal: this.#ended(call.signal) }))) throw nameUnsure(error, call);
      }
    }
  }

  get silentMs(): number {
    return this.#settings.silentMs;
  }

  newRetries(): Retries {
    const { deadlineMs } = this.#settings;
    return new Retries({ deadlineMs, firstPauseMs: FIRST_PAUSE_MS, longestPauseMs: LONGEST_PAUSE_MS });
  }

  async #attempt<Body>(call: HttpCall): Promise<HttpAnswer<Body>> {
    const late = new AbortController();
    const limitMs = this.#settings.answerMs + (call.waitMs ?? 0);
    const timer = setTimeout(() => late.abort(new Error(`${LATE} within ${limitMs} ms`)), limitMs);
    try {
      const response = await this.open(call, late.signal);
      const body = JSON.parse(await response.text()) as Body;
      return { body, tenant: response.headers.get(TENANT_HEADER) ?? '', headers: response.headers };
    } catch (error) {
      throw toFailure(error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** @param cut ends the request and the body of its answer @throws PassingFailure, or the error of the server */
  async open(call: HttpCall, cut: AbortSignal): Promise<Response> {
    this.#checkOpen();
    const { url, key, fetch: send } = this.#settings;
    const { method, path, query = {}, body, tenant, headers } = call;
    const target = new URL(`${url}/v1/${path.map(encodeURIComponent).join('/')}`);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) target.searchParams.set(name, String(value));
    }
    let response: Response;
    try {
      response = await send(target.href, {
        method,
        headers: {
          ...(key !== undefined && { authorization: `Bearer ${key}` }),
          ...(tenant !== undefined && { [TENANT_HEADER]: tenant }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body }),
        // A redirect would turn a POST into a GET.
        redirect: 'error',
        signal: AbortSignal.any([cut, this.#ended(call.signal)]),
      });
    } catch (error) {
      throw toFailure(error);
    }
    if (response.ok && isFromTurnfold(response)) return response;
    throw await this.#refusalOf(response);
  }

  close(): void {
    this.#closing.abort();
  }

  async #refusalOf(response: Response): Promise<unknown> {
    const { status } = response;
    const text = await response.text().catch((error: unknown) => error);
    if (typeof text !== 'string') return toFailure(text);
    const error = readProblem(status, parseJson(text));
    if (!isPassing(status, error)) return error;
    const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
    return new PassingFailure(error, Number.isFinite(seconds) ? seconds * 1_000 : undefined);
  }

  #ended(signal: AbortSignal | undefined): AbortSignal {
    return signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal]);
  }

  #checkOpen(): void {
    if (this.#closing.signal.aborted)
      throw new TurnfoldError('server_unavailable', 'this client was closed with `close`. Open a new client');
  }
}

function wasCut({ waitMs = 0 }: HttpCall, { error }: PassingFailure): boolean {
  return waitMs > 0 && error.code === 'server_unavailable' && !isUnconnected(error);
}

function isUnconnected({ cause }: TurnfoldError): boolean {
  if (!(cause instanceof Error)) return false;
  const { cause: inner, message } = cause;
  const code = inner instanceof Error && 'code' in inner ? inner.code : undefined;
  return code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT' || message.startsWith(LATE);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isFromTurnfold({ headers }: Response): boolean {
  return /^(?:application\/json|text\/event-stream)\b/.test(headers.get('content-type') ?? '');
}

/** A write may have succeeded before the server failed, so its error names the id under which a repetition is safe. */
function nameUnsure(error: TurnfoldError, { write }: HttpCall): TurnfoldError {
  return write === undefined ? error : nameWrite(error, write);
}

/** Converts an error of `fetch`, whose reason is nested, to a failure that can be retried. */
export function toFailure(error: unknown): unknown {
  if (error instanceof PassingFailure || isTurnfoldError(error)) return error;
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const why = cause instanceof Error ? cause.message || cause.name : String(cause);
  return new PassingFailure(
    new TurnfoldError('server_unavailable', `the server does not answer: ${why}`, { cause: error }),
  );
}

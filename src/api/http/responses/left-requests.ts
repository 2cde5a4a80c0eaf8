import { hash, randomUUID } from 'node:crypto';
import type { Context } from 'hono';
import { z } from 'zod';
import type { Backend } from '../front-end/backend.ts';
import { serverFactsOf } from '../front-end/server-facts.ts';

/** The SDK of OpenAI sends it with each attempt of a request. It sends no key by itself. */
export const RETRY_HEADER = 'x-stainless-retry-count';

export const retryHeaders = {
  [RETRY_HEADER]: z.coerce.number().int().optional().describe('Above 0: the request is a repeated one.'),
};

const KEPT_MS = 600_000;
const MAX_REQUESTS = 10_000;
const MAX_EQUAL = 100;

/** A request whose answer has reached no client yet. */
interface LeftRequest {
  /** Id of the turn, the same for each attempt. */
  readonly key: string;
  /** Aborts if the client of the last attempt leaves. Undefined: the last attempt has failed. */
  running: AbortSignal | undefined;
  /** Settles once the server has ended the last attempt. */
  ended: Promise<void>;
  until: number;
}

/** One attempt of a request. */
export interface Attempt {
  /** Hash of the request and of all that decides its turn. */
  readonly print: string;
  /** True: the client says that it has sent the request before. */
  readonly isRepeated: boolean;
  /** Aborts if the client leaves. */
  readonly left: AbortSignal;
  /** True: the server erases the turn of a client that leaves, so a repeated request begins again. */
  readonly isErased: boolean;
}

/**
 * Requests without a key. A client that repeats such a request gets the turn of its first attempt. The turn has its id
 * before it is stored, so an attempt that failed before or after that makes no difference.
 *
 * An attempt goes on with an equal one that failed, or whose client left. It never shares the turn of a client that
 * still waits.
 *
 * The requests are in the memory of this server, because the log has no place for them. Behind several servers, a client
 * needs a key.
 */
export class LeftRequests {
  readonly #now: () => number;
  readonly #requests = new Map<string, readonly LeftRequest[]>();

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** @param answer does the work of an attempt. Its `key` is the id of the turn */
  async run<Answer>(attempt: Attempt, answer: (key: string) => Promise<Answer>): Promise<Answer> {
    const { print, left, isErased } = attempt;
    const ending = Promise.withResolvers<void>();
    const request = (attempt.isRepeated ? await this.#resume(attempt, ending.promise) : undefined) ?? {
      key: randomUUID(),
      running: left,
      ended: ending.promise,
      until: Number.POSITIVE_INFINITY,
    };
    this.#keep(print, request);
    try {
      const answered = await answer(request.key);
      if (!left.aborted || isErased) this.#forget(print, request);
      return answered;
    } finally {
      // A later attempt may have taken the request already.
      if (request.running === left) request.running = undefined;
      request.until = this.#now() + KEPT_MS;
      ending.resolve();
    }
  }

  /** Takes the last equal request that has no client, once its earlier attempt has ended. */
  async #resume({ print, left }: Attempt, ended: Promise<void>): Promise<LeftRequest | undefined> {
    const request = this.#listEqual(print).findLast(({ running }) => running?.aborted !== false);
    if (request === undefined) return undefined;
    const earlier = request.ended;
    request.running = left;
    request.ended = ended;
    request.until = Number.POSITIVE_INFINITY;
    await earlier;
    return this.#listEqual(print).includes(request) ? request : undefined;
  }

  #listEqual(print: string): readonly LeftRequest[] {
    return (this.#requests.get(print) ?? []).filter(({ until }) => until > this.#now());
  }

  #keep(print: string, request: LeftRequest): void {
    this.#forget(print, request);
    const equal = this.#requests.get(print) ?? [];
    this.#requests.delete(print);
    this.#requests.set(print, [...equal.slice(1 - MAX_EQUAL), request]);
    const [oldest] = this.#requests.keys();
    if (this.#requests.size > MAX_REQUESTS && oldest !== undefined) this.#requests.delete(oldest);
  }

  #forget(print: string, request: LeftRequest): void {
    const others = this.#listEqual(print).filter((one) => one !== request);
    if (others.length === 0) this.#requests.delete(print);
    else this.#requests.set(print, others);
  }
}

const clientNames = new WeakMap<object, string>();

/**
 * Hashes a request, all that names its caller, and all that functions of the app gave to it. So two requests are equal
 * only if their turns are.
 */
export async function printRequest(
  context: Context,
  { source, tenant, agent }: Backend,
  body: unknown,
): Promise<string> {
  const { caller, findContext } = serverFactsOf(context);
  const client = clientNames.get(source) ?? randomUUID();
  clientNames.set(source, client);
  const credentials = [context.req.header('authorization'), context.req.header('cookie')];
  // A function that fails refuses the turn later. A request without a turn does not need it.
  const given = await findContext?.().catch(() => randomUUID());
  return hash('sha256', JSON.stringify([client, tenant, agent, caller, credentials, given ?? null, body]));
}

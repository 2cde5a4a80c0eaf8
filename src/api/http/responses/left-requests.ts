import { hash } from 'node:crypto';
import type { Context } from 'hono';
import { z } from 'zod';
import { serverFactsOf } from '../front-end/server-facts.ts';
import type { ResponseName } from './response-names.ts';

/** The SDK of OpenAI sends it with each attempt of a request. It sends no key by itself. */
export const RETRY_HEADER = 'x-stainless-retry-count';

export const retryHeaders = {
  [RETRY_HEADER]: z.coerce.number().int().optional().describe('Above 0: the request is a repeated one.'),
};

const KEPT_MS = 600_000;
const MAX_REQUESTS = 10_000;
const MAX_EQUAL = 100;

interface LeftRequest {
  readonly name: ResponseName;
  readonly until: number;
}

/**
 * Requests without a key whose clients left before the answer began. A client that repeats such a request gets the same
 * response, and no second turn. Clients that sent equal requests may get each other's responses, which neither has seen.
 *
 * The requests are in the memory of this server, because the log has no place for them. Behind several servers, a client
 * needs a key.
 */
export class LeftRequests {
  readonly #now: () => number;
  readonly #left = new Map<string, LeftRequest[]>();

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  add(print: string, name: ResponseName): void {
    const equal = this.#left.get(print) ?? [];
    this.#left.delete(print);
    this.#left.set(print, [...equal.slice(1 - MAX_EQUAL), { name, until: this.#now() + KEPT_MS }]);
    const [oldest] = this.#left.keys();
    if (this.#left.size > MAX_REQUESTS && oldest !== undefined) this.#left.delete(oldest);
  }

  /** Returns the response of the last equal request, once. */
  take(print: string): ResponseName | undefined {
    const equal = (this.#left.get(print) ?? []).filter(({ until }) => until > this.#now());
    const last = equal.pop();
    if (equal.length === 0) this.#left.delete(print);
    else this.#left.set(print, equal);
    return last?.name;
  }

  /**
   * Answers a request, and keeps the name of its response if the answer fails, or its client leaves before.
   * @param print hashes the request. Absent: the client has a key, by which it finds the response
   */
  async keep(
    print: (() => string) | undefined,
    name: ResponseName,
    { req }: Context,
    answer: () => Promise<Response>,
  ): Promise<Response> {
    let hasAnswered = false;
    try {
      const response = await answer();
      hasAnswered = !req.raw.signal.aborted;
      return response;
    } finally {
      if (!hasAnswered && print !== undefined) this.add(print(), name);
    }
  }
}

/** Hash of a request and of all that names its caller. */
export function printRequest(context: Context, body: unknown): string {
  const { tenant, owner, conversation } = serverFactsOf(context).caller;
  const key = context.req.header('authorization');
  return hash('sha256', JSON.stringify([tenant, owner, conversation, key, body]));
}

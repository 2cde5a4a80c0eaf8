import { Agent, type Dispatcher, fetch as undiciFetch } from 'undici';

/** The step has its own deadline; a client's would end long answers. */
const NEVER_MS = 2_147_483_647;

/** Node's own ends a connection that is silent for five minutes, and a model may think for longer. */
export function openAgent(): Agent {
  return new Agent({ headersTimeout: 0, bodyTimeout: 0 });
}

/**
 * Of the agent's own package, since Node brings an undici of another version. It takes what Node's takes: the types, which
 * Node has in a package of their own, differ by methods of iterators alone.
 */
const fetch = undiciFetch as unknown as typeof globalThis.fetch;

/**
 * What the clients of all providers have in common. Retries are the turn's: each is in its record, and gives its slot back
 * while it waits.
 */
export function commonOptions(dispatcher: Dispatcher) {
  return { maxRetries: 0, logLevel: 'off', timeout: NEVER_MS, fetch, fetchOptions: { dispatcher } } as const;
}

/**
 * The clients put the headers of a variable of theirs (`ANTHROPIC_CUSTOM_HEADERS`, `OPENAI_CUSTOM_HEADERS`) on each request,
 * over our key as well, and have no option against it.
 */
export function dropForeignHeaders<Client extends object>(client: Client): Client {
  const { _options: options } = client as { readonly _options?: { defaultHeaders?: unknown } };
  if (options !== undefined) options.defaultHeaders = undefined;
  return client;
}

import { once } from 'node:events';
import { type IncomingMessage, request as openRequest } from 'node:http';
import { text } from 'node:stream/consumers';
import recorded from '../../../src/api/http/examples.json' with { type: 'json' };
import type { RecordedExample } from '../../../src/api/http/examples.ts';

/** Parts of a request. Absent parts are those of the example of its operation. */
export interface ChangedRequest {
  /** Replace parameters of the path. */
  readonly params?: Readonly<Record<string, string>>;
  /** Replaces the query. */
  readonly query?: Readonly<Record<string, unknown>>;
  /** Are added to the headers. */
  readonly headers?: Readonly<Record<string, string>>;
  /** An object replaces members of the body, and a member `undefined` removes one. Any other value replaces the body. */
  readonly body?: unknown;
  /** Replaces the body by a text that need not be JSON. */
  readonly raw?: string;
}

/** Servers over one Redis, each with one setting of its own. */
export type ServerName = keyof typeof SERVER_LIMITS | 'keyed' | 'read_only';

export const SERVER_LIMITS = {
  plain: {},
  /** Has no place for streams and waiting requests. */
  full: { maxReaders: 0 },
  /** Takes almost no body. */
  narrow: { maxBodyBytes: 10 },
  /** Waits only a moment for a body. */
  hasty: { bodyTimeoutMs: 50 },
  /** Has no memory for a large context. */
  small: { answerMemoryBytes: 1 },
};

/**
 * One row of the table of refusals: a request that the server refuses, and its answer.
 *
 * To add a row, append it to the list of its operation in one of the files beside this one. The test
 * `test/http/every-refusal.test.ts` sends it. If the OpenAPI document lists a code of status 4xx for an operation, the
 * operation needs a row. A row may only give a code that the document lists. The conversations that a row may name are
 * in `world.ts`. Rows that all operations share (keys, bodies, headers) are in `common-refusals.ts`.
 */
export interface Refusal extends ChangedRequest {
  /** Code of the error, as in the document. */
  readonly code: string;
  /** Path of the wrong field, header or parameter. Absent: the answer names none. */
  readonly field?: string;
  /** The whole sentence of the answer, without the field in front of it. */
  readonly says: string | RegExp;
  /** Server that gets the request (`plain`). */
  readonly server?: ServerName;
  /** Request to the same operation that succeeds before, e.g. under the same id. */
  readonly after?: ChangedRequest;
  /** How the request is sent, if not as a usual one: with a body that never ends, or with headers above the limit. */
  readonly form?: 'endless_body' | 'large_headers';
}

/** Rows by operation. */
export type Refusals = Readonly<Record<string, readonly Refusal[]>>;

/** Joins tables, also those that have rows for the same operation. */
export function joinRefusals(...tables: readonly Refusals[]): Refusals {
  const joined: Record<string, Refusal[]> = {};
  for (const table of tables) {
    for (const [operation, rows] of Object.entries(table)) (joined[operation] ??= []).push(...rows);
  }
  return joined;
}

export interface SentRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly content: string | undefined;
}

const examples: Readonly<Record<string, RecordedExample>> = recorded;

/** Writes the request of a row: the example of the operation, with the changes of the row. */
export function writeRequest(
  { operation, method, path }: { readonly operation: string; readonly method: string; readonly path: string },
  changed: ChangedRequest,
): SentRequest {
  const example = examples[operation];
  const params = { ...example?.params, ...changed.params };
  const query = changed.query ?? example?.query ?? {};
  const body = changed.body === undefined ? example?.body : changeBody(example?.body, changed.body);
  const content = changed.raw ?? (body === undefined ? undefined : JSON.stringify(body));
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  const search = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  return {
    method: method.toUpperCase(),
    path: search.length === 0 ? filled : `${filled}?${search.join('&')}`,
    headers: {
      ...(content !== undefined && { 'content-type': 'application/json' }),
      ...example?.headers,
      ...changed.headers,
    },
    content,
  };
}

function changeBody(body: unknown, changed: unknown): unknown {
  return isPlain(body) && isPlain(changed) ? { ...body, ...changed } : changed;
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Answer to a request that was refused, read from a problem, and from the error of OpenAI where the answer has one. */
export interface SeenRefusal {
  readonly status: number;
  readonly code?: unknown;
  readonly field?: unknown;
  readonly says?: unknown;
  readonly error?: unknown;
}

const LARGE_HEADER = 'x'.repeat(20_000);

/** Sends a request, and waits for its answer. The answer of a stream that was not refused is cut. */
export async function sendRequest(
  url: string,
  { method, path, headers, content }: SentRequest,
  form?: Refusal['form'],
): Promise<SeenRefusal> {
  const { hostname, port } = new URL(url);
  const large = form === 'large_headers' && { 'x-large': LARGE_HEADER };
  const length = form === 'endless_body' && { 'content-type': 'application/json', 'content-length': '100' };
  const request = openRequest({
    hostname,
    port,
    path,
    method,
    agent: false,
    headers: { ...headers, ...large, ...length },
  });
  const answering = once(request, 'response') as Promise<[IncomingMessage]>;
  // A server that refuses a request early closes the connection, perhaps while the request is still sent.
  request.on('error', () => undefined);
  if (form === 'endless_body') request.write('{');
  else request.end(content);
  const [response] = await answering;
  const { statusCode: status = 0 } = response;
  const read = status < 400 ? {} : readProblem(await text(response));
  request.destroy();
  return { status, ...read };
}

function readProblem(body: string): Omit<SeenRefusal, 'status'> {
  const { code, field, detail, error } = JSON.parse(body) as Readonly<Record<string, unknown>>;
  const prefix = `${String(field)}: `;
  const says = String(detail);
  return { code, field, error, says: says.startsWith(prefix) ? says.slice(prefix.length) : says };
}

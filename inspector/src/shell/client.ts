import { readFrames } from '../../../src/api/http-client/event-frames.ts';
import { accessKey, keyWanted } from './key.ts';

/** The page lies beside the routes, or under `inspect/`. */
export const BASE = location.pathname.replace(/(?:inspect\/)?(?:index\.html)?$/, '');

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface ReadOptions {
  readonly query?: Query | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Body of an error response (RFC 9457), as far as the page shows it. */
interface Problem {
  readonly status: number;
  /** One of docs/reference/errors.md. */
  readonly code: string;
  readonly detail: string;
  /** Path of the wrong field or parameter. */
  readonly field?: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** An answer that is no success. Its message is for people. Without any answer, `code` is `unreachable`. */
export class AnswerError extends Error {
  readonly status: number;
  readonly code: string;
  readonly field: string | undefined;
  readonly details: Problem['details'];

  constructor({ status, code, detail, field, details }: Problem) {
    super(detail);
    this.name = 'AnswerError';
    this.status = status;
    this.code = code;
    this.field = field;
    this.details = details;
  }
}

/**
 * Reads a route of the OpenAPI document.
 * @param path behind `/v1/`, with encoded ids, as `pathOf` writes it
 */
export async function readRoute<Answer>(path: string, { query, signal }: ReadOptions = {}): Promise<Answer> {
  return (await (await send(path, { query, signal })).json()) as Answer;
}

/** Sends a change. A repeated call with the same `operation` changes nothing. */
export async function sendChange<Answer>(
  path: string,
  body: unknown,
  { operation, signal }: { readonly operation?: string; readonly signal?: AbortSignal } = {},
): Promise<Answer> {
  const headers = {
    'content-type': 'application/json',
    ...(operation !== undefined && { 'idempotency-key': operation }),
  };
  const answer = await send(path, { signal, method: 'POST', headers, body: JSON.stringify(body) });
  return (await answer.json()) as Answer;
}

/** Writes a path behind `/v1/` from ids, e.g. `pathOf('conversations', id, 'outline')`. */
export function pathOf(...parts: readonly (string | number)[]): string {
  return parts.map((part) => encodeURIComponent(part)).join('/');
}

export interface ReceivedEvent {
  readonly id?: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/**
 * Reads a stream of server-sent events over one connection. `EventSource` could not send the access key.
 * @param after id of the last handled event
 */
export async function* readEvents(
  path: string,
  { query, after, signal }: ReadOptions & { readonly after?: string | undefined },
): AsyncGenerator<ReceivedEvent, void, void> {
  const headers = { accept: 'text/event-stream', ...(after !== undefined && { 'last-event-id': after }) };
  const { body } = await send(path, { query, signal, headers });
  if (body === null) return;
  for await (const { id, type, data } of readFrames(body)) {
    const parsed = data === undefined ? {} : (JSON.parse(data) as Record<string, unknown>);
    if (id !== undefined || data !== undefined) yield { ...(id !== undefined && { id }), type, data: parsed };
  }
}

interface Sent extends Pick<RequestInit, 'method' | 'body'> {
  readonly query?: Query | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

async function send(path: string, { query = {}, signal, headers, ...rest }: Sent): Promise<Response> {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  const key = accessKey.peek();
  const response = await fetch(`${BASE}v1/${path}${search === '' ? '' : `?${search}`}`, {
    ...rest,
    ...(signal && { signal }),
    headers: { ...headers, ...(key !== '' && { authorization: `Bearer ${key}` }) },
  }).catch((cause: unknown) => {
    if (signal?.aborted === true) throw cause;
    throw new AnswerError({
      status: 0,
      code: 'unreachable',
      detail: 'The server does not answer. Is it still running?',
    });
  });
  if (response.ok) return response;
  const error = await readProblem(response);
  // A person may have given another key meanwhile.
  if (error.status === 401 && key === accessKey.peek()) keyWanted.value = key === '' ? '' : error.message;
  throw error;
}

async function readProblem(response: Response): Promise<AnswerError> {
  const text = await response.text();
  try {
    return new AnswerError(JSON.parse(text) as Problem);
  } catch {
    // E.g. a proxy between the page and the server answered.
    const { status, statusText } = response;
    return new AnswerError({ status, code: 'defect', detail: `The server answered ${status} ${statusText}.` });
  }
}

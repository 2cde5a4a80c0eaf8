import { computed } from '@preact/signals';
import { readFrames } from '../../../src/api/http-client/event-frames.ts';
import { readProblem } from '../../../src/api/http-client/problem-error.ts';
import { type HttpCall, PassingFailure, Transport, toFailure } from '../../../src/api/http-client/transport.ts';
import { pause } from '../../../src/api/retries.ts';
import { isServiceError, isTurnfoldError, TurnfoldError } from '../../../src/domain/errors.ts';
import { accessKey, keyWanted } from './key.tsx';

/**
 * Sends the requests of the page through the request layer of `turnfold/http-client`.
 *
 * The page imports `Transport` (3 kB gzip), and not the client's methods. With zod and the schemas of the contract, the
 * methods have 50 kB, while the whole page has 61 kB. Most methods take no abort signal, but a panel that goes away
 * cancels its requests. So a panel names a path of the OpenAPI document, and takes the type of its answer from
 * `src/api/contract`.
 *
 * `deadlineMs: 0` turns the retries of `Transport` off. The page shows an outage at once, and most panels read again
 * every two seconds. Only `followEvents` repeats a request, because a stream has to continue behind its last event.
 *
 * `sendWithKey` handles the status 401 for all panels: the form for the key replaces the panel.
 */

export { isTurnfoldError, type TurnfoldError };

/** Path of the server's routes. The page lies beside the routes, or under `inspect/`. */
export const BASE = location.pathname.replace(/(?:inspect\/)?(?:index\.html)?$/, '');

/** Segments of a path behind `/v1/`, not yet encoded. */
export type Path = readonly (string | number)[];
export type Query = NonNullable<HttpCall['query']>;

/** Time limit of a request. A request for the outcome of a decision waits for 15 s, so the limit is longer. */
const ANSWER_MS = 60_000;

const http = computed(
  () =>
    new Transport({
      url: `${location.origin}${BASE}`.replace(/\/$/, ''),
      key: accessKey.value === '' ? undefined : accessKey.value,
      deadlineMs: 0,
      answerMs: ANSWER_MS,
      silentMs: 0,
      fetch: sendWithKey,
    }),
);

/** @throws TurnfoldError, also after an abort */
export async function readRoute<Answer>(path: Path, query: Query, signal?: AbortSignal): Promise<Answer> {
  return await send<Answer>({ method: 'GET', path: path.map(String), query, signal, tenant: undefined });
}

/** Sends a change. A repeated call with the same `operation` changes nothing. */
export async function sendChange<Answer>(
  path: Path,
  body: object,
  { operation, signal }: { readonly operation?: string; readonly signal?: AbortSignal } = {},
): Promise<Answer> {
  return await send<Answer>({
    method: 'POST',
    path: path.map(String),
    body: JSON.stringify(body),
    headers: operation === undefined ? {} : { 'idempotency-key': operation },
    signal,
    tenant: undefined,
  });
}

/** `crypto.randomUUID` is absent from pages over plain HTTP. */
export function newOperation(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

async function send<Answer>(call: HttpCall): Promise<Answer> {
  try {
    return (await http.peek().send<Answer>(call)).body;
  } catch (error) {
    throw explain(error);
  }
}

/** Returns the server's error unchanged. If no answer came, returns an error in words for a reader of the page. */
function explain(thrown: unknown): TurnfoldError {
  const failure = toFailure(thrown) as PassingFailure | TurnfoldError;
  const error = failure instanceof PassingFailure ? failure.error : failure;
  const hasAnswer = !isTurnfoldError(error, 'server_unavailable') || error.cause === undefined;
  if (hasAnswer) return error;
  const words = 'The server does not answer. Is it still running?';
  return new TurnfoldError('server_unavailable', words, { cause: error.cause });
}

/** True if the same request may succeed later. */
export function isOutage(error: TurnfoldError): boolean {
  return isServiceError(error);
}

/** Shows the form for the key after a 401, unless a person has given another key meanwhile. The caller gets the 401 in both cases. */
async function sendWithKey(...request: Parameters<typeof fetch>): Promise<Response> {
  const key = accessKey.peek();
  const response = await fetch(...request);
  if (response.status !== 401) return response;
  const problem: unknown = await response
    .clone()
    .json()
    .catch(() => undefined);
  if (key === accessKey.peek()) keyWanted.value = key === '' ? '' : readProblem(response.status, problem).message;
  return response;
}

interface ReceivedEvent {
  readonly id?: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Pauses before a cut stream is opened again, in ms. The last pause repeats. */
const PAUSES_MS = [500, 1_000, 2_000, 5_000, 15_000];

/** @param onCut gets the failure, or undefined if the server ended the stream. An error from `onCut` ends the iteration */
export async function* followEvents(
  path: Path,
  signal: AbortSignal,
  onCut?: (failure: TurnfoldError | undefined) => void,
): AsyncGenerator<ReceivedEvent, void, void> {
  let after: string | undefined;
  for (let cuts = 0; !signal.aborted; cuts += 1) {
    let failure: TurnfoldError | undefined;
    try {
      for await (const event of readEvents(path, after, signal)) {
        cuts = 0;
        after = event.id ?? after;
        yield event;
      }
    } catch (error) {
      failure = explain(error);
    }
    if (signal.aborted) return;
    onCut?.(failure);
    await pause(PAUSES_MS[Math.min(cuts, PAUSES_MS.length - 1)] ?? 0, signal);
  }
}

/** Reads the events of one connection. `EventSource` could not send the access key. */
async function* readEvents(
  path: Path,
  after: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<ReceivedEvent, void, void> {
  const headers = { accept: 'text/event-stream', ...(after !== undefined && { 'last-event-id': after }) };
  const call: HttpCall = { method: 'GET', path: path.map(String), headers, tenant: undefined };
  const { body } = await http.peek().open(call, signal);
  if (body === null) return;
  for await (const { id, type, data } of readFrames(body)) {
    if (id === undefined && data === undefined) continue;
    yield { ...(id !== undefined && { id }), type, data: JSON.parse(data ?? '{}') as ReceivedEvent['data'] };
  }
}

import { createHttpApp, type HttpAppOptions, type Problem } from '../../src/api/http/index.ts';
import { serveHttp } from '../../src/api/http/serve-http.ts';
import { type Fleet, openFleet } from '../../src/host/health/fleet.ts';
import { type Fixture, openFixture, SHARDS } from '../client/fixture.ts';

export interface Answer<Body = Record<string, unknown>> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

export interface HttpFixture extends Fixture {
  readonly baseUrl: string;
  /** Errors that the server hid from its callers. */
  readonly defects: readonly unknown[];
  call<Body = Record<string, unknown>>(method: string, path: string, options?: CallOptions): Promise<Answer<Body>>;
  /** A further server over the same Redis. */
  serve(options?: Partial<HttpAppOptions>): Promise<{ readonly url: string; readonly stop: () => Promise<void> }>;
}

export interface CallOptions {
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it is. */
  readonly raw?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const FLEET_TERMS = {
  shards: SHARDS,
  queueShards: 1,
  inbox: false,
  stuckMs: 60_000,
  grafanaUrl: undefined,
  onError: () => undefined,
};

/** A Redis, a client and an HTTP server on 127.0.0.1, for the tests of one file. */
export async function openHttpFixture(options: Partial<HttpAppOptions> = {}): Promise<HttpFixture> {
  const fixture = await openFixture();
  const defects: unknown[] = [];
  const stops: (() => Promise<void>)[] = [];
  let fleet: Promise<Fleet> | undefined;
  const readFleet = async () => {
    fleet ??= openFleet({ url: fixture.url, ...FLEET_TERMS });
    return await (await fleet).read();
  };
  const serve = async (extra: Partial<HttpAppOptions> = {}) => {
    const app = createHttpApp({
      client: fixture.client,
      authenticate: 'none',
      fleet: readFleet,
      onError: (error) => defects.push(error),
      ...extra,
    });
    const server = await serveHttp({ app, host: '127.0.0.1', port: 0, allowedHosts: extra.allowedHosts });
    const stop = async (): Promise<void> => void (await server.close(1_000));
    stops.push(stop);
    return { url: server.url, stop };
  };
  const { url: baseUrl } = await serve(options);
  return {
    ...fixture,
    baseUrl,
    defects,
    serve,
    call: (method, path, request) => send(baseUrl + path, method, request),
    close: async () => {
      await Promise.all(stops.map((stop) => stop()));
      await (await fleet)?.close();
      await fixture.close();
      if (defects.length > 0) throw new AggregateError(defects, 'the server had unexpected errors');
    },
  };
}

export async function send<Body>(
  url: string,
  method: string,
  { body, raw, headers }: CallOptions = {},
): Promise<Answer<Body>> {
  const content = body === undefined ? raw : JSON.stringify(body);
  const response = await fetch(url, {
    method,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(content !== undefined && { body: content }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: (text === '' ? undefined : JSON.parse(text)) as Body,
  };
}

/** The parts of a problem that tests compare. */
export function outline({ status, body }: Answer<unknown>): { status: number; code: string; field?: string } {
  const { code, field } = body as Problem;
  return { status, code, ...(field !== undefined && { field }) };
}

export interface SentEvent {
  readonly id: string | undefined;
  readonly type: string;
  readonly data: Record<string, unknown>;
}

/** Reads server-sent events until `isEnough` holds, then cuts the connection. */
export async function readEvents(
  url: string,
  { after, isEnough }: { readonly after?: string | undefined; readonly isEnough: (events: SentEvent[]) => boolean },
): Promise<SentEvent[]> {
  const leaving = new AbortController();
  const headers = after === undefined ? {} : { 'last-event-id': after };
  const response = await fetch(url, { headers, signal: leaving.signal });
  if (response.status !== 200 || response.body === null) throw new Error(`${response.status} ${await response.text()}`);
  const events: SentEvent[] = [];
  let text = '';
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const frames = text.split('\n\n');
    text = frames.pop() ?? '';
    events.push(...frames.flatMap(parseFrame));
    if (isEnough(events)) break;
  }
  leaving.abort();
  return events;
}

function parseFrame(frame: string): SentEvent[] {
  const lines = new Map(
    frame.split('\n').map((line) => [line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2)]),
  );
  const data = lines.get('data');
  if (data === undefined) return [];
  return [{ id: lines.get('id'), type: lines.get('event') ?? 'message', data: JSON.parse(data) as SentEvent['data'] }];
}

export const hasEnd = (events: readonly SentEvent[]): boolean => events.at(-1)?.type === 'end';

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { readAllowedHosts } from '../../domain/allowed-hosts.ts';
import { fieldError } from '../../domain/errors.ts';
import { checkHost } from './access.ts';
import type { HttpApp } from './app-options.ts';
import {
  answerProblem,
  describeProblem,
  HTTP_CODES,
  type HttpCode,
  HttpProblem,
  PROBLEM_TYPE,
  writeProblem,
} from './problem.ts';

interface ServeOptions {
  readonly app: Pick<HttpApp, 'fetch' | 'close'>;
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Host names under which requests may come, beside `localhost` and IP addresses. */
  readonly allowedHosts?: readonly string[] | undefined;
}

export interface HttpServer {
  readonly url: string;
  /** Ends streams, and waits up to `graceMs` for other requests. Then it cuts the connections. */
  close(graceMs: number): Promise<'closed' | 'deadline'>;
}

const MAX_HEADER_BYTES = 16_384;
const HEADERS_MS = 10_000;
const REQUEST_MS = 60_000;
/** Load balancers keep idle connections for 60 s, and a server must keep them longer. */
const KEEP_ALIVE_MS = 65_000;
const MAX_CONNECTIONS = 10_000;
const CLOSE_PAUSE_MS = 50;
const UNREADABLE = 'the request has no valid URL or host';

/** @throws invalid_config if the address cannot be bound */
export async function serveHttp({ app, host, port, allowedHosts = [] }: ServeOptions): Promise<HttpServer> {
  const allowed = readAllowedHosts(allowedHosts, 'allowedHosts');
  const fetch = (
    request: Request,
    { outgoing }: { readonly outgoing: Pick<Writable, 'destroy'> },
  ): Promise<Response> => {
    checkHost(request, allowed);
    return app.fetch(request, { cut: () => void outgoing.destroy() });
  };
  const listener = getRequestListener(fetch, {
    // Replaces `Request` and `Response` in the whole process. An answer then needs no web stream and no copy of its
    // headers, which saves about 30 µs of CPU time.
    overrideGlobalObjects: true,
    errorHandler: (error) =>
      error instanceof HttpProblem
        ? answerProblem(error, () => undefined)
        : writeProblem(describeProblem(400, { code: 'invalid_input', detail: UNREADABLE })),
  });
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: HEADERS_MS,
      requestTimeout: REQUEST_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
    },
    (request, response) => void listener(request, response),
  );
  server.maxConnections = MAX_CONNECTIONS;
  server.on('clientError', answerClientError);
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw fieldError('invalid_config', '--port', `the address cannot be bound: ${why}`, { cause });
  }
  // Without this listener, an error such as a lack of file descriptors would end the process.
  server.on('error', () => undefined);
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    close: (graceMs) => closeServer(server, app, graceMs),
  };
}

async function closeServer(
  server: Server,
  app: Pick<HttpApp, 'close'>,
  graceMs: number,
): Promise<'closed' | 'deadline'> {
  const closed = once(server, 'close');
  server.close();
  app.close();
  const until = performance.now() + graceMs;
  for (;;) {
    // Repeated, because a connection becomes idle once its answer is sent.
    server.closeIdleConnections();
    const outcome = await Promise.race([closed.then(() => 'closed' as const), delay(CLOSE_PAUSE_MS)]);
    if (outcome === 'closed') return outcome;
    if (performance.now() >= until) break;
  }
  server.closeAllConnections();
  await closed;
  return 'deadline';
}

const PARSER_CODES: Readonly<Record<string, keyof typeof PARSER_REASONS>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

const PARSER_REASONS = {
  headers_too_large: `the request has more than ${MAX_HEADER_BYTES} bytes of headers, the limit of this server`,
  request_timeout: `the headers did not arrive within ${HEADERS_MS} ms, or the whole request within ${REQUEST_MS} ms`,
} as const satisfies Partial<Record<HttpCode, string>>;

function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const code = PARSER_CODES[error.code ?? ''];
  const status = code === undefined ? 400 : HTTP_CODES[code];
  const detail = code === undefined ? 'the request is not valid HTTP' : PARSER_REASONS[code];
  const problem = describeProblem(status, { code: code ?? 'invalid_input', detail });
  const body = `${JSON.stringify(problem)}\n`;
  const head = [
    `HTTP/1.1 ${status} ${problem.title}`,
    `content-type: ${PROBLEM_TYPE}`,
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

export type NodeListener = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** A request of Node with the fields that servers add. Express cuts the path of a mounted listener, and parses bodies. */
interface MountedRequest extends IncomingMessage {
  originalUrl?: string;
  body?: unknown;
  rawBody?: Buffer;
}

/**
 * Creates a listener for servers that pass requests and responses of Node, such as Express, Fastify and `node:http`.
 * The path of a request is the whole one, wherever the listener is mounted, so `basePath` of the app is the path of the
 * mount.
 */
export function createNodeListener(app: Pick<HttpApp, 'fetch'>): NodeListener {
  const listen = getRequestListener(
    (request, bindings) => app.fetch(request, { cut: () => void (bindings as HttpBindings).outgoing.destroy() }),
    // The process belongs to another server, so its globals stay as they are.
    { overrideGlobalObjects: false },
  );
  return async (request: MountedRequest, response) => {
    if (request.originalUrl !== undefined) request.url = request.originalUrl;
    // A parser in front has read the body, so the stream of the request has nothing more.
    if (request.readableEnded && request.body !== undefined)
      request.rawBody = Buffer.from(JSON.stringify(request.body));
    await listen(request, response);
  };
}

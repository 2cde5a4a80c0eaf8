import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type AllowedHosts, explainForeignHost, isAllowedHost, readAllowedHosts } from '../../domain/allowed-hosts.ts';
import { fieldError } from '../../domain/errors.ts';

export interface PageContent {
  readonly status?: number;
  readonly contentType: string;
  readonly body: string;
}

export type Page = () => PageContent | Promise<PageContent>;

export interface PageAddress {
  /** 0 takes any free port. */
  readonly port: number;
  /** Default 127.0.0.1, because the pages have no access control. */
  readonly host?: string;
  /** Host names that a request may have in its `Host` header, beside `localhost` and IP addresses. */
  readonly allowedHosts?: readonly string[] | undefined;
}

interface PageServerOptions extends PageAddress {
  readonly pages: Readonly<Record<string, Page>>;
}

export interface PageServer {
  readonly host: string;
  readonly port: number;
  /** Closes the server and its open connections, which a Prometheus scraper would keep alive for minutes. */
  close(): Promise<void>;
}

/** Node leaves out the body of an answer to HEAD. */
const READING: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** Limit far above what scrapers and probes use. Further connections are closed at once. */
const MAX_CONNECTIONS = 1_024;

/** Errors of Node that mean: the host to bind is unknown, or belongs to another machine. */
const WRONG_HOST = /EADDRNOTAVAIL|ENOTFOUND|EAI_AGAIN/;

/** @throws invalid_config for an address that cannot be bound, or an entry of `metrics.allowedHosts` that is no host */
export async function servePages(options: PageServerOptions): Promise<PageServer> {
  const { port, host = '127.0.0.1', allowedHosts = [], pages } = options;
  const byPath = new Map(Object.entries(pages));
  const allowed = readAllowedHosts(allowedHosts, 'metrics.allowedHosts');
  const server = createServer((request, response) => {
    if (!refuseForeignHost(request, response, allowed)) void answer(byPath, request, response);
  });
  server.maxConnections = MAX_CONNECTIONS;
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const field = WRONG_HOST.test(why) ? 'metrics.host' : 'metrics.port';
    throw fieldError('invalid_config', field, `the address cannot be bound: ${why}`, { cause });
  }
  // Without a listener, an `error` event would end the worker, e.g. if file descriptors run out.
  server.on('error', () => undefined);
  return {
    host,
    port: (server.address() as AddressInfo).port,
    close: async () => {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** A probe of HTTP/1.0 may send no `Host`, which no browser does. @returns true if the request was refused */
function refuseForeignHost({ headers }: IncomingMessage, response: ServerResponse, allowed: AllowedHosts): boolean {
  const { host } = headers;
  if (host === undefined || isAllowedHost(host, allowed)) return false;
  send(response, textPage(403, explainForeignHost(host, 'TURNFOLD_METRICS_ALLOWED_HOSTS')));
  return true;
}

async function answer(
  pages: ReadonlyMap<string, Page>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [path = ''] = (request.url ?? '').split('?', 1);
  const page = READING.has(request.method ?? '') ? pages.get(path) : undefined;
  try {
    send(response, page === undefined ? textPage(404, 'not found') : await page());
  } catch {
    send(response, textPage(500, 'this page could not be created. See the log of the worker'));
  }
}

export function textPage(status: number, line: string): PageContent {
  return { status, contentType: 'text/plain; charset=utf-8', body: `${line}\n` };
}

function send(response: ServerResponse, { status = 200, contentType, body }: PageContent): void {
  response.writeHead(status, { 'content-type': contentType });
  response.end(body);
}

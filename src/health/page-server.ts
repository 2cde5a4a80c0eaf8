import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TurnfoldError } from '../domain/errors.ts';

export interface PageContent {
  /** HTTP status (200). */
  readonly status?: number;
  readonly contentType: string;
  readonly body: string;
}

export type Page = () => PageContent | Promise<PageContent>;

export interface PageServerOptions {
  /** 0 takes any free port. */
  readonly port: number;
  /** Host to bind (`127.0.0.1`, since pages have no access control). */
  readonly host?: string;
  /** Pages by path. Each answers GET and HEAD. */
  readonly pages: Readonly<Record<string, Page>>;
}

export interface PageServer {
  readonly host: string;
  readonly port: number;
  /** Also ends open connections, which a scraper keeps alive for minutes. */
  close(): Promise<void>;
}

/** Probes use either method. Node omits the body of a HEAD answer. */
const READING: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** Scrapers and probes use few connections. The server closes further ones at once. */
const MAX_CONNECTIONS = 1_024;

/** Errors for a host of another machine, or an unknown name. */
const WRONG_HOST = /EADDRNOTAVAIL|ENOTFOUND|EAI_AGAIN/;

/**
 * Serves pages for probes and scrapers.
 * @throws invalid_config (`metrics.port`, `metrics.host`) if the address cannot be bound
 */
export async function servePages({ port, host = '127.0.0.1', pages }: PageServerOptions): Promise<PageServer> {
  const byPath = new Map(Object.entries(pages));
  const server = createServer((request, response) => {
    void answer(byPath, request, response);
  });
  server.maxConnections = MAX_CONNECTIONS;
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const field = WRONG_HOST.test(why) ? 'metrics.host' : 'metrics.port';
    throw new TurnfoldError('invalid_config', `${field}: the address cannot be bound: ${why}`, { field, cause });
  }
  // E.g. no file descriptors left. A failing page must not end the worker.
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
    send(response, textPage(500, 'the page could not be rendered'));
  }
}

/** A page with one line of text. */
export function textPage(status: number, line: string): PageContent {
  return { status, contentType: 'text/plain; charset=utf-8', body: `${line}\n` };
}

function send(response: ServerResponse, { status = 200, contentType, body }: PageContent): void {
  response.writeHead(status, { 'content-type': contentType });
  response.end(body);
}

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TurnfoldError } from '../domain/errors.ts';

export interface PageContent {
  /** Default: 200. */
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

/** Methods of probes and scrapers. Node leaves out the body of an answer to HEAD. */
const READING: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** Far more connections than scrapers and probes use. The server closes further connections at once. */
const MAX_CONNECTIONS = 1_024;

/** Codes of the system for a host that is unknown, or belongs to another machine. */
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
  // Without a listener, an error such as a lack of file descriptors would end the worker.
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

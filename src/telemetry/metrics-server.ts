import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TurnfoldError } from '../domain/errors.ts';
import type { Metrics } from './metrics.ts';

export interface MetricsServerOptions {
  /** 0 takes any free port */
  readonly port: number;
  /** `127.0.0.1` unless told: the page has no access control of its own */
  readonly host?: string;
  readonly metrics: Pick<Metrics, 'render'>;
}

export interface MetricsServer {
  readonly host: string;
  readonly port: number;
  /** ends open connections too: a scraper keeps its own alive for minutes */
  close(): Promise<void>;
}

/**
 * Serves `GET /metrics`.
 * @throws invalid_config (`metrics.port`) where the address cannot be bound
 */
export async function serveMetrics(options: MetricsServerOptions): Promise<MetricsServer> {
  const { port, host = '127.0.0.1', metrics } = options;
  const server = createServer((request, response) => {
    void answer(metrics, request, response);
  });
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new TurnfoldError('invalid_config', `metrics cannot be served: ${why}`, { field: 'metrics.port', cause });
  }
  // Out of file descriptors, say: a page that nobody can read must not end the worker.
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
  metrics: Pick<Metrics, 'render'>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [path] = (request.url ?? '').split('?', 1);
  if (request.method !== 'GET' || path !== '/metrics') {
    send(response, 404, { contentType: 'text/plain; charset=utf-8', body: 'not found\n' });
    return;
  }
  try {
    send(response, 200, await metrics.render());
  } catch {
    send(response, 500, { contentType: 'text/plain; charset=utf-8', body: 'the metrics could not be rendered\n' });
  }
}

function send(response: ServerResponse, status: number, page: { contentType: string; body: string }): void {
  response.writeHead(status, { 'content-type': page.contentType });
  response.end(page.body);
}

import type { OpenClient } from '../../src/api/client/index.ts';
import { createHttpApp, type HttpAppOptions } from '../../src/api/http/index.ts';
import { serveHttp } from '../../src/api/http/serve-http.ts';
import { openHttpClient } from '../../src/api/http-client/index.ts';

export interface Served {
  readonly url: string;
  readonly stop: () => Promise<void>;
}

/** Serves the routes on 127.0.0.1. */
export async function serveClient(
  client: OpenClient,
  options: Partial<HttpAppOptions> = {},
  port = 0,
): Promise<Served> {
  const app = createHttpApp({ client, authenticate: 'none', ...options });
  const server = await serveHttp({ app, host: '127.0.0.1', port });
  return { url: server.url, stop: async () => void (await server.close(1_000)) };
}

/** A client over HTTP, and its server over the given client. */
export async function openOverHttp(client: OpenClient): Promise<{ overHttp: OpenClient; close: () => Promise<void> }> {
  const { url, stop } = await serveClient(client);
  const overHttp = { ...openHttpClient({ url }), keys: client.keys, webhooks: client.webhooks };
  const close = async (): Promise<void> => {
    await overHttp.close();
    await stop();
  };
  return { overHttp, close };
}

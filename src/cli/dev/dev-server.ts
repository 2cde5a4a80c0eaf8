import type { OpenClient } from '../../api/client/index.ts';
import { createHttpApp } from '../../api/http/app.ts';
import { createProtocols } from '../../api/http/protocols.ts';
import { type HttpServer, serveHttp } from '../../api/http/serve-http.ts';
import { withPage } from '../../api/http/static-page.ts';

export interface DevServerOptions {
  readonly client: OpenClient;
  readonly agent: string;
  readonly port: number;
  /** Folder of a built page. Absent: the routes alone. */
  readonly page?: string | undefined;
}

const HOST = '127.0.0.1';

/** Serves the routes, the protocols of front-ends and perhaps a page, to this machine only. */
export async function serveDev({ client, agent, port, page }: DevServerOptions): Promise<HttpServer> {
  const app = createHttpApp({ client, authenticate: 'none', protocols: createProtocols({ client, agent }) });
  const fetch = page === undefined ? app.fetch : withPage(page, app.fetch);
  return await serveHttp({ app: { fetch, close: () => app.close() }, host: HOST, port });
}

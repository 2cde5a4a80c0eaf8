import { fileURLToPath } from 'node:url';
import type { TurnfoldClient } from '../../src/api/client/index.ts';
import { createHttpApp } from '../../src/api/http/app.ts';
import { createProtocols } from '../../src/api/http/protocols.ts';
import { serveHttp } from '../../src/api/http/serve-http.ts';
import { withPage } from '../../src/api/http/static-page.ts';

/** The built page of the example. */
export const PAGE_FOLDER = fileURLToPath(new URL('../../examples/chat/dist', import.meta.url));

export interface ChatServer {
  readonly url: string;
  close(): Promise<unknown>;
}

/** Serves the example page and the routes that it uses. */
export async function startChatServer(client: TurnfoldClient, agent: string): Promise<ChatServer> {
  const app = createHttpApp({ client, authenticate: 'none', protocols: createProtocols({ client, agent }) });
  const server = await serveHttp({
    app: { fetch: withPage(PAGE_FOLDER, app.fetch), close: () => app.close() },
    host: '127.0.0.1',
    port: 0,
  });
  return { url: server.url, close: () => server.close(1_000) };
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { HttpApp } from './app-options.ts';

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
    (request, { outgoing }: { readonly outgoing: Pick<ServerResponse, 'destroy'> }) =>
      app.fetch(request, { cut: () => void outgoing.destroy() }),
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

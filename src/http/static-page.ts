import { serveStatic } from '@hono/node-server/serve-static';
import { Hono } from 'hono';
import type { HttpApp } from './app-options.ts';
import type { Connection } from './event-stream.ts';

/** Content of other origins never runs in the page, and the page sends nothing elsewhere. */
const HEADERS = {
  'content-security-policy': "default-src 'self'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};

/**
 * Serves the files of a folder, e.g. a built page, beside the routes.
 * @param answer answers a request for which the folder has no file
 */
export function withPage(folder: string, answer: HttpApp['fetch']): HttpApp['fetch'] {
  const app = new Hono<{ Bindings: Connection }>();
  app.use('/v1/*', async ({ req, env }) => await answer(req.raw, env));
  app.use(async (context, next) => {
    await next();
    for (const [name, value] of Object.entries(HEADERS)) context.res.headers.set(name, value);
  });
  app.use(serveStatic({ root: folder }));
  app.notFound(({ req, env }) => answer(req.raw, env));
  return async (request, connection) => await app.fetch(request, connection);
}

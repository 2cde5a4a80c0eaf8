import { serveStatic } from '@hono/node-server/serve-static';
import { Hono } from 'hono';

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
export function withPage(
  folder: string,
  answer: (request: Request) => Promise<Response>,
): (request: Request) => Promise<Response> {
  const app = new Hono();
  app.use('/v1/*', async ({ req }) => await answer(req.raw));
  app.use(async (context, next) => {
    await next();
    for (const [name, value] of Object.entries(HEADERS)) context.res.headers.set(name, value);
  });
  app.use(serveStatic({ root: folder }));
  app.notFound(({ req }) => answer(req.raw));
  return async (request) => await app.fetch(request);
}

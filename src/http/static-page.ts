import { serveStatic } from '@hono/node-server/serve-static';
import { Hono } from 'hono';

/** Content of other origins never runs in the page, and the page sends nothing elsewhere. */
const HEADERS = {
  'content-security-policy': "default-src 'self'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};

/** A bundler writes the hash of a file into its name, e.g. `assets/index-DrJ-jrom.js`. A word has no such capitals. */
const HASHED = /\/assets\/[^/]+-(?=[\w-]*[A-Z])(?=[\w-]*[a-z\d])[\w-]{8}\.\w+$/;

/** A page that loads again needs only its small HTML file from the server. */
function keepFor(path: string): string {
  return HASHED.test(path) ? 'public, max-age=31536000, immutable' : 'no-cache';
}

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
  app.use(serveStatic({ root: folder, onFound: (path, { res }) => res.headers.set('cache-control', keepFor(path)) }));
  app.notFound(({ req }) => answer(req.raw));
  return async (request) => await app.fetch(request);
}

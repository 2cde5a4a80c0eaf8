import { serveStatic } from '@hono/node-server/serve-static';
import { Hono } from 'hono';
import type { HttpApp } from './app-options.ts';
import type { Connection } from './event-stream.ts';

/** The page runs no content of other origins, and sends nothing to them. */
export const PAGE_HEADERS = {
  'content-security-policy': "default-src 'self'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};

/** Length of a bundler's hash in the name of a file, e.g. `assets/index-DrJ-jrom.js`. A word has no capitals inside. */
const HASH_CHARACTERS = 8;

function keepFor(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const hash = name.slice(0, name.lastIndexOf('.')).slice(-HASH_CHARACTERS);
  const isHashed =
    path.includes('/assets/') && /[A-Z]/.test(hash) && /[a-z\d]/.test(hash) && name.includes(`-${hash}.`);
  return isHashed ? 'public, max-age=31536000, immutable' : 'no-cache';
}

/**
 * @param answer answers a request for which the folder has no file
 * @param under path of the page, e.g. `/inspect`. Absent: the page is at the root
 */
export function withPage(folder: string, answer: HttpApp['fetch'], under = ''): HttpApp['fetch'] {
  const app = new Hono<{ Bindings: Connection }>();
  app.use('/v1/*', async ({ req, env }) => await answer(req.raw, env));
  // The page names its files relative to itself, so its address ends with a slash.
  if (under !== '') app.get(under, (context) => context.redirect(`.${under}/`));
  app.use(`${under}/*`, async (context, next) => {
    await next();
    for (const [name, value] of Object.entries(PAGE_HEADERS)) context.res.headers.set(name, value);
  });
  app.use(
    `${under}/*`,
    serveStatic({
      root: folder,
      rewriteRequestPath: (path) => path.slice(under.length),
      onFound: (path, { res }) => res.headers.set('cache-control', keepFor(path)),
    }),
  );
  app.notFound(({ req, env }) => answer(req.raw, env));
  return async (request, connection) => await app.fetch(request, connection);
}

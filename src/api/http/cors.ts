import type { MiddlewareHandler } from 'hono';
import { cors } from 'hono/cors';
import { STATE_HEADER } from '../contract/enqueue.ts';
import type { Access } from './access.ts';
import type { ProtocolRoute } from './app-options.ts';
import { TENANT_HEADER } from './caller.ts';
import { IDEMPOTENCY_HEADER } from './idempotency-key.ts';

/** Headers that the SDK of OpenAI adds by itself. They change with its versions. */
const OF_OPENAI = /^(?:x-stainless|openai)-[\w-]{1,64}$/;

const REQUEST_HEADERS = [IDEMPOTENCY_HEADER, 'last-event-id', TENANT_HEADER];

export function allowOrigins({ cors: origins }: Access, routes: readonly ProtocolRoute[]): MiddlewareHandler[] {
  if (origins.length === 0) return [];
  const ofProtocols = routes.flatMap(({ headers }) => Object.keys(headers?.shape ?? {}));
  const listed = ['authorization', 'content-type', ...new Set([...REQUEST_HEADERS, ...ofProtocols])];
  const allow = (allowHeaders: string[]): MiddlewareHandler =>
    cors({
      origin: origins.includes('*') ? '*' : [...origins],
      allowMethods: ['GET', 'POST', 'DELETE'],
      allowHeaders,
      exposeHeaders: ['location', 'retry-after', 'x-should-retry', 'idempotency-replayed', TENANT_HEADER, STATE_HEADER],
      maxAge: 600,
    });
  const usual = allow(listed);
  const middleware: MiddlewareHandler = async (context, next) => {
    const asked = context.req.method === 'OPTIONS' ? context.req.header('access-control-request-headers') : undefined;
    const further = (asked ?? '').split(',').flatMap((name) => {
      const trimmed = name.trim().toLowerCase();
      return OF_OPENAI.test(trimmed) ? [trimmed] : [];
    });
    return await (further.length === 0 ? usual : allow([...listed, ...further]))(context, next);
  };
  return [middleware];
}

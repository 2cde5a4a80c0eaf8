import type { MiddlewareHandler } from 'hono';
import { cors } from 'hono/cors';
import { STATE_HEADER } from '../contract/enqueue.ts';
import type { Access } from './access.ts';
import type { ProtocolRoute } from './app-options.ts';
import { TENANT_HEADER } from './caller.ts';
import { IDEMPOTENCY_HEADER } from './idempotency-key.ts';

const REQUEST_HEADERS = [IDEMPOTENCY_HEADER, 'last-event-id', TENANT_HEADER];

export function allowOrigins({ cors: origins }: Access, routes: readonly ProtocolRoute[]): MiddlewareHandler[] {
  if (origins.length === 0) return [];
  const ofProtocols = routes.flatMap(({ headers }) => Object.keys(headers?.shape ?? {}));
  const middleware = cors({
    origin: origins.includes('*') ? '*' : [...origins],
    allowMethods: ['GET', 'POST', 'DELETE'],
    allowHeaders: ['authorization', 'content-type', ...new Set([...REQUEST_HEADERS, ...ofProtocols])],
    exposeHeaders: ['location', 'retry-after', 'idempotency-replayed', TENANT_HEADER, STATE_HEADER],
    maxAge: 600,
  });
  return [middleware];
}

import { type Context, Hono } from 'hono';
import type { z } from 'zod';
import type { Scope } from '../../domain/access-key.ts';
import { parseInput } from '../../domain/parse.ts';
import { pathParameters } from '../contract/operation.ts';
import { type Access, admit, checkScopes, checkSource, openAccess } from './access.ts';
import { AnswerMemory } from './answer-memory.ts';
import {
  type AnsweredRequest,
  type HttpApp,
  type HttpAppOptions,
  LIMIT_DEFAULTS,
  type MountedProtocol,
  type ProtocolRoute,
  type ServerFacts,
} from './app-options.ts';
import { parseQuery } from './call-client.ts';
import { type Caller, TENANT_HEADER } from './caller.ts';
import { answerWithContext, holdContext } from './contexts.ts';
import { allowOrigins } from './cors.ts';
import type { Connection } from './event-stream.ts';
import { explainReusedKey } from './idempotency-key.ts';
import { describeProtocol, describeRoute, describeRoutes } from './openapi.ts';
import { answerProblem, HttpProblem } from './problem.ts';
import { ServerReaders } from './readers.ts';
import { type BodyLimits, readJsonBody } from './request-body.ts';
import { type Call, type JsonAnswer, type Route, type RouteServices, routerPath } from './route.ts';
import { routes } from './routes.ts';

const API_VERSION = '1.0.0';
const DOCUMENT_PATH = '/v1/openapi.json';

interface ServedRoute extends Route {
  readonly params: z.ZodObject;
}

interface Gate {
  readonly access: Access;
  readonly isReadOnly: boolean;
  readonly readers: ServerReaders;
}

interface Answering extends Gate {
  readonly services: Omit<RouteServices, 'readers'>;
  readonly limits: BodyLimits;
}

/**
 * Creates the HTTP server's app. Each answer is JSON, a stream, or a problem by RFC 9457.
 * @throws invalid_config if `authenticate` is missing, or the options open a server without access control to web pages
 */
export function createHttpApp(options: HttpAppOptions): HttpApp {
  const { client, isReadOnly = false, basePath = '', protocols = [], onError = () => undefined } = options;
  const access = openAccess(options);
  const limits = { ...LIMIT_DEFAULTS, ...options.limits };
  const readers = new ServerReaders({ ...limits, onError });
  const { maxDepth, maxValues, bodyTimeoutMs, maxBodyBytes } = limits;
  const answering: Answering = {
    services: {
      client,
      keys: client.keys,
      webhooks: client.webhooks,
      streams: limits,
      memory: new AnswerMemory(limits.answerMemoryBytes, limits.stalledMs),
      basePath,
      onError,
      ...(options.fleet && { fleet: options.fleet }),
    },
    access,
    isReadOnly,
    readers,
    limits: { maxBytes: maxBodyBytes, maxDepth, maxValues, timeoutMs: bodyTimeoutMs },
  };
  const protocolRoutes = protocols.flatMap((protocol) => protocol.routes);
  const described = [...routes.map(describeRoute), ...protocols.flatMap(describeProtocol)];
  const document = describeRoutes(described, API_VERSION, basePath);
  const app = new Hono().basePath(basePath === '' ? '/' : basePath);
  if (options.onRequest !== undefined) app.use(reportRequests(options.onRequest));
  app.use(async (context, next) => {
    checkSource(context.req.raw, access);
    await next();
  });
  for (const middleware of allowOrigins(access, protocolRoutes)) app.use(middleware);
  for (const route of routes) {
    // Zod compiles a schema at its first use, which takes several ms. So each route has one schema for all requests.
    const served = { ...route, params: pathParameters(route.path) };
    app.on(route.method.toUpperCase(), routerPath(route.path), (context) => answer(context, served, answering));
  }
  app.get(DOCUMENT_PATH, (context) => context.json(document));
  for (const protocol of protocols)
    mountProtocol(app, protocol, { ...answering, maxWaitMs: limits.maxWaitMs, onError });
  refuseOtherMethods(app, [...routes, ...protocolRoutes]);
  const answerError = (context: Context, error: unknown): Response => {
    const path = context.req.path.slice(basePath.length);
    const owner = protocols.find(({ base }) => base !== undefined && path.startsWith(`${base}/`));
    return (owner?.answerError ?? answerProblem)(error, onError);
  };
  app.notFound((context) => {
    const why = `no route has this path. ${basePath}${DOCUMENT_PATH} lists all routes`;
    return answerError(context, new HttpProblem('no_route', why, { field: context.req.path }));
  });
  app.onError((error, context) => answerError(context, error));
  return {
    fetch: async (request, connection) => await app.fetch(request, connection),
    document,
    get readers() {
      return readers.open;
    },
    close: () => readers.close(),
  };
}

function reportRequests(onRequest: (request: AnsweredRequest) => void) {
  return async (context: Context, next: () => Promise<void>): Promise<void> => {
    const startedAt = performance.now();
    await next();
    const operation = context.get('operation') as string | undefined;
    onRequest({ operation, status: context.res.status, durationMs: performance.now() - startedAt });
  };
}

function mountProtocol(
  app: Hono,
  { routes: served, fetch, answerError = answerProblem }: MountedProtocol,
  { services, limits: body, maxWaitMs, onError, ...gate }: Answering & Pick<ServerFacts, 'maxWaitMs' | 'onError'>,
): void {
  const { streams, basePath, memory } = services;
  const hold: ServerFacts['holdContext'] = async (held, read) => await holdContext(memory, held, read);
  const facts = { basePath, streams, body, maxWaitMs, onError, holdContext: hold };
  for (const { operation, method, path, scopes } of served) {
    app.on(method.toUpperCase(), routerPath(path), async (context: Context) => {
      context.set('operation', operation);
      const request = context.req.raw;
      try {
        const admission = await admit(request, gate, scopes);
        // A GET request changes nothing, whatever right its route needs.
        if (method !== 'get') checkReadOnly(gate, scopes);
        const response = await fetch(request, { ...facts, ...admission, cut: readCut(context) });
        response.headers.set(TENANT_HEADER, admission.caller.tenant);
        return response;
      } catch (error) {
        return answerError(error, onError);
      }
    });
  }
}

function readCut({ env }: Context): Connection['cut'] | undefined {
  return (env as Partial<Connection> | undefined)?.cut;
}

function refuseOtherMethods(app: Hono, served: readonly Pick<Route | ProtocolRoute, 'method' | 'path'>[]): void {
  const byPath = Map.groupBy(served, ({ path }) => path);
  for (const [path, found] of byPath) {
    const allow = found.map(({ method }) => method.toUpperCase()).join(', ');
    app.all(routerPath(path), () => {
      throw new HttpProblem('method_not_allowed', `this route answers ${allow}`, { headers: { allow } });
    });
  }
}

async function answer(
  context: Context,
  route: ServedRoute,
  { services, limits, ...gate }: Answering,
): Promise<Response> {
  context.set('operation', route.operation);
  const request = context.req.raw;
  const needed = [route.onlyReads === undefined ? route.scope : 'read'] as const;
  const { caller, readers, guard } = await admit(request, gate, needed);
  if (route.method !== 'get') checkReadOnly(gate, needed);
  const params = parseInput(route.params, context.req.param());
  const query = route.query === undefined ? {} : parseQuery(route.query, context.req.query());
  const body = route.body === undefined ? undefined : parseInput(route.body, await readJsonBody(request, limits));
  if (route.onlyReads?.(body as never) === false) {
    checkReadOnly(gate, [route.scope]);
    checkScopes(caller, [route.scope]);
  }
  const param = (name: string): string => String(params[name]);
  const name = { tenant: caller.tenant, conversation: param('conversation') };
  const { isReadOnly } = gate;
  const cut = readCut(context);
  const parts = { route, caller, readers, isReadOnly, request, cut, query, body, params, param, name };
  const call: Call = { ...services, client: guard(services.client), ...parts };
  const handle = async () =>
    await route.handle(call as Call<never, never>).catch((error: unknown) => {
      throw explainReusedKey(request, error);
    });
  const answered = route.holdsContext === true ? await answerWithContext(call, handle) : await handle();
  if (!(answered instanceof Response)) return writeAnswer(answered, route, caller);
  answered.headers.set(TENANT_HEADER, caller.tenant);
  return answered;
}

function writeAnswer({ body, headers }: JsonAnswer, { status }: Route, { tenant }: Caller): Response {
  return new Response(`${JSON.stringify(body)}\n`, {
    status: status ?? 200,
    headers: { 'content-type': 'application/json', ...headers, [TENANT_HEADER]: tenant },
  });
}

function checkReadOnly({ isReadOnly }: Pick<Gate, 'isReadOnly'>, needed: readonly Scope[]): void {
  if (!isReadOnly || needed.every((scope) => scope === 'read')) return;
  throw new HttpProblem('read_only', 'this server only reads. Start it with --allow-changes to allow this request');
}

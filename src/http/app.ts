import { type Context, Hono } from 'hono';
import { cors } from 'hono/cors';
import type { z } from 'zod';
import { includesScope, type Scope } from '../domain/access-key.ts';
import { parseInput } from '../domain/parse.ts';
import {
  type AnsweredRequest,
  type HttpApp,
  type HttpAppOptions,
  LIMIT_DEFAULTS,
  type MountedProtocol,
  type ProtocolRoute,
  type ServerFacts,
} from './app-options.ts';
import { type Authenticate, type Caller, checkTenant, TENANT_HEADER, trustEveryone } from './caller.ts';
import type { Connection } from './event-stream.ts';
import { explainReusedKey, IDEMPOTENCY_HEADER } from './idempotency-key.ts';
import { describeRoute, describeRoutes } from './openapi.ts';
import { checkOrigin } from './page-origins.ts';
import { answerProblem, HttpProblem } from './problem.ts';
import { Readers } from './readers.ts';
import { type BodyLimits, readJsonBody } from './request-body.ts';
import { type Call, type JsonAnswer, pathParameters, type Route, type RouteServices, STATE_HEADER } from './route.ts';
import { routes } from './routes.ts';

/** Version of the routes, which `/v1` names. */
const API_VERSION = '1.0.0';
/** Headers of our own in requests, beside those of protocols. */
const REQUEST_HEADERS = [IDEMPOTENCY_HEADER, 'last-event-id', TENANT_HEADER];
const DOCUMENT_PATH = '/v1/openapi.json';

interface ServedRoute extends Route {
  readonly params: z.ZodObject;
}

interface Access {
  readonly authenticate: Authenticate;
  readonly isReadOnly: boolean;
}

interface Answering extends Access {
  readonly services: RouteServices;
  readonly limits: BodyLimits;
}

/**
 * Creates the HTTP routes over a client, as a fetch handler for any server. Each answer is JSON, a stream, or a problem
 * by RFC 9457.
 */
export function createHttpApp(options: HttpAppOptions): HttpApp {
  const {
    client,
    authenticate = trustEveryone,
    isReadOnly = false,
    basePath = '',
    onError = () => undefined,
  } = options;
  const limits = { ...LIMIT_DEFAULTS, ...options.limits };
  const readers = new Readers(limits.maxReaders);
  const { maxDepth, bodyTimeoutMs, maxBodyBytes } = limits;
  const answering: Answering = {
    services: { client, readers, streams: limits, basePath, onError, ...(options.fleet && { fleet: options.fleet }) },
    authenticate,
    isReadOnly,
    limits: { maxBytes: maxBodyBytes, maxDepth, timeoutMs: bodyTimeoutMs },
  };
  const protocols = options.protocols ?? [];
  const protocolRoutes = protocols.flatMap((protocol) => protocol.routes);
  const document = describeRoutes([...routes.map(describeRoute), ...protocolRoutes], {
    version: API_VERSION,
    basePath,
  });
  const app = new Hono().basePath(basePath === '' ? '/' : basePath);
  addGuards(app, options);
  for (const route of routes) {
    // Zod compiles a schema at its first use, which takes several ms. So a schema is made once, not for each request.
    const served = { ...route, params: pathParameters(route.path) };
    app.on(route.method.toUpperCase(), routerPath(route.path), (context) => answer(context, served, answering));
  }
  app.get(DOCUMENT_PATH, (context) => context.json(document));
  for (const protocol of protocols)
    mountProtocol(app, protocol, { ...answering, maxWaitMs: limits.maxWaitMs, onError });
  refuseOtherMethods(app, [...routes, ...protocolRoutes]);
  app.notFound((context) => {
    const why = `no route has this path. ${basePath}${DOCUMENT_PATH} lists all routes`;
    return answerProblem(new HttpProblem('no_route', why, { field: context.req.path }), onError);
  });
  app.onError((error) => answerProblem(error, onError));
  return {
    fetch: async (request, connection) => await app.fetch(request, connection),
    document,
    get readers() {
      return readers.open;
    },
    close: () => readers.close(),
  };
}

/** Adds what applies to every request: the report for metrics, CORS, and the check of web pages. */
function addGuards(app: Hono, options: HttpAppOptions): void {
  const { cors: origins = [], hosts, onRequest, protocols = [] } = options;
  const protocolHeaders = protocols.flatMap((protocol) => protocol.routes.flatMap(listHeaders));
  if (onRequest !== undefined) app.use(reportRequests(onRequest));
  if (origins.length > 0) {
    app.use(
      cors({
        origin: origins.includes('*') ? '*' : [...origins],
        allowMethods: ['GET', 'POST', 'DELETE'],
        allowHeaders: ['authorization', 'content-type', ...new Set([...REQUEST_HEADERS, ...protocolHeaders])],
        exposeHeaders: ['location', 'retry-after', 'idempotency-replayed', TENANT_HEADER, STATE_HEADER],
        maxAge: 600,
      }),
    );
  }
  // With keys, a web page has no right that its user did not give it.
  if (options.authenticate !== undefined && hosts === undefined) return;
  app.use(async (context, next) => {
    checkOrigin(context.req.raw, { hosts, cors: origins });
    await next();
  });
}

function listHeaders({ headers }: ProtocolRoute): string[] {
  return Object.keys(headers?.shape ?? {});
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
  { services, authenticate, isReadOnly, limits: body, ...rest }: Answering & Pick<ServerFacts, 'maxWaitMs' | 'onError'>,
): void {
  const { readers, streams, basePath } = services;
  const facts = { basePath, readers, streams, body, ...rest };
  for (const { operation, method, path, scopes } of served) {
    app.on(method.toUpperCase(), routerPath(path), async (context: Context) => {
      context.set('operation', operation);
      const request = context.req.raw;
      try {
        const caller = await identify(request, { authenticate, isReadOnly }, scopes);
        checkTenant(request, caller);
        const response = await fetch(request, { ...facts, caller, cut: readCut(context) });
        response.headers.set(TENANT_HEADER, caller.tenant);
        return response;
      } catch (error) {
        return answerError(error, rest.onError);
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

/** Writes a path as the router expects it: `:turn` for `{turn}`. */
function routerPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

async function answer(
  context: Context,
  route: ServedRoute,
  { services, limits, ...access }: Answering,
): Promise<Response> {
  context.set('operation', route.operation);
  const request = context.req.raw;
  const caller = await identify(request, access, [route.onlyReads === undefined ? route.scope : 'read']);
  checkTenant(request, caller);
  const params = parseInput(route.params, context.req.param());
  const query = route.query === undefined ? {} : parseInput(route.query, context.req.query());
  const body = route.body === undefined ? undefined : await readBody(request, route, limits);
  if (route.onlyReads?.(body as never) === false) checkScopes(caller, access, [route.scope]);
  const param = (name: string): string => String(params[name]);
  const name = { tenant: caller.tenant, conversation: param('conversation') };
  const { operation } = route;
  const { isReadOnly } = access;
  const cut = readCut(context);
  const call: Call = { ...services, operation, caller, isReadOnly, request, cut, query, body, param, name };
  const answered = await route.handle(call as Call<never, never>).catch((error: unknown) => {
    throw explainReusedKey(request, error);
  });
  if (!(answered instanceof Response)) return writeAnswer(answered, route, caller);
  answered.headers.set(TENANT_HEADER, caller.tenant);
  return answered;
}

function writeAnswer({ body, headers }: JsonAnswer, { status = 200 }: Route, { tenant }: Caller): Response {
  return new Response(`${JSON.stringify(body)}\n`, {
    status,
    headers: { 'content-type': 'application/json', ...headers, [TENANT_HEADER]: tenant },
  });
}

async function readBody(request: Request, { body: schema, isBodyOptional }: Route, limits: BodyLimits) {
  const body = await readJsonBody(request, limits);
  if (schema === undefined || (body === undefined && isBodyOptional)) return schema?.parse(undefined);
  return parseInput(schema, body);
}

async function identify(request: Request, access: Access, needed: readonly Scope[]): Promise<Caller> {
  const caller = await access.authenticate(request);
  // A GET changes nothing, whatever right it needs.
  checkScopes(caller, { isReadOnly: access.isReadOnly && request.method !== 'GET' }, needed);
  return caller;
}

function checkScopes({ scopes }: Caller, { isReadOnly }: Pick<Access, 'isReadOnly'>, needed: readonly Scope[]): void {
  if (isReadOnly && needed.some((scope) => scope !== 'read')) {
    throw new HttpProblem('read_only', 'this server only reads. Start it with --allow-changes to allow this request');
  }
  const missing = needed.find((scope) => !includesScope(scopes, scope));
  if (missing === undefined) return;
  throw new HttpProblem('forbidden', `this route needs a key with the scope ${missing}`, { field: 'authorization' });
}

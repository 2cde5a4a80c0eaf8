import type { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { serveStatic } from '@hono/node-server/serve-static';
import { Hono } from 'hono';
import { type Access, type AccessOptions, checkHost, checkOrigin, checkScopes, openAccess } from './access.ts';
import type { HttpApp } from './app-options.ts';
import { checkOperator } from './caller.ts';
import { answerProblem, HttpProblem } from './problem.ts';
import { PAGE_HEADERS } from './static-page.ts';

export const BOARD_PATH = '/inspect/queues';

type Queue = ConstructorParameters<typeof BullMQAdapter>[0];
type Fetch = (request: Request) => Response | Promise<Response>;

export interface QueueBoardOptions extends Pick<AccessOptions, 'authenticate' | 'allowedHosts'> {
  readonly queues: readonly { readonly shard: number; readonly queue: object }[];
  /** If true, jobs can be retried, removed and added. Jobs are only hints, so turns survive these changes. */
  readonly allowsChanges: boolean;
  readonly onError: (error: unknown) => void;
  readonly importPackages?: typeof importPackages;
}

/** Serves bull-board beside other routes. A browser sends the access key as the password of HTTP Basic. */
export function withQueueBoard(answer: HttpApp['fetch'], options: QueueBoardOptions): HttpApp['fetch'] {
  const access = openAccess(options);
  let board: Promise<Fetch> | undefined;
  const show = async (request: Request): Promise<Response> => {
    await checkCaller(request, access, options);
    board ??= openBoard(options).catch((error: unknown) => {
      board = undefined;
      throw error;
    });
    return await (await board)(request);
  };
  return async (request, connection) => {
    const { pathname } = new URL(request.url);
    if (pathname !== BOARD_PATH && !pathname.startsWith(`${BOARD_PATH}/`)) return await answer(request, connection);
    const response = await show(request).catch((error: unknown) => answerProblem(error, options.onError));
    const headers = new Headers(response.headers);
    for (const [name, value] of Object.entries(PAGE_HEADERS)) headers.set(name, value);
    return new Response(response.body, { status: response.status, headers });
  };
}

async function checkCaller(
  request: Request,
  { authenticate, hosts }: Access,
  { allowsChanges }: QueueBoardOptions,
): Promise<void> {
  checkHost(request, hosts);
  // A browser adds the password to requests of every page, so only pages of this origin may send requests.
  checkOrigin(request, []);
  const caller = await authenticate(withBearer(request)).catch((error: unknown) => {
    if (!(error instanceof HttpProblem) || error.code !== 'unauthorized') throw error;
    const headers = { 'www-authenticate': 'Basic realm="turnfold queues: an access key as the password"' };
    throw new HttpProblem('unauthorized', error.message, { field: 'authorization', headers });
  });
  checkScopes(caller, ['admin']);
  checkOperator(caller);
  if (request.method === 'GET' || allowsChanges) return;
  throw new HttpProblem('forbidden', 'the queues are read-only here. Start turnfold inspect with --allow-changes', {
    field: 'method',
  });
}

function withBearer(request: Request): Request {
  const [, encoded] = /^Basic +([\w+/=]+)$/i.exec(request.headers.get('authorization') ?? '') ?? [];
  if (encoded === undefined) return request;
  const decoded = Buffer.from(encoded, 'base64').toString();
  const headers = { authorization: `Bearer ${decoded.slice(decoded.indexOf(':') + 1)}` };
  return new Request(request.url, { headers });
}

async function openBoard({ queues, allowsChanges, importPackages: load }: QueueBoardOptions): Promise<Fetch> {
  const { createBullBoard, BullMQAdapter, HonoAdapter } = await loadPackages(load);
  const adapter = new HonoAdapter(serveStatic);
  const isSharded = queues.some(({ shard }) => shard > 0);
  createBullBoard({
    queues: queues.map(({ shard, queue }) => {
      const prefix = isSharded ? `shard-${shard}-` : '';
      return new BullMQAdapter(queue as Queue, { readOnlyMode: !allowsChanges, prefix });
    }),
    serverAdapter: adapter,
    options: { uiConfig: { boardTitle: 'turnfold queues' } },
  });
  adapter.setBasePath(BOARD_PATH);
  const app = new Hono().route(BOARD_PATH, adapter.registerPlugin());
  return async (request) => {
    const response = await app.fetch(request);
    if (response.headers.get('content-type')?.startsWith('text/html') !== true) return response;
    const page = await response.text();
    return new Response(page.replaceAll(FOREIGN_LINKS, ''), response);
  };
}

const FOREIGN_LINKS = /<link href="https:[^<>]{0,300}>/g;

async function importPackages() {
  return await Promise.all([
    import('@bull-board/api'),
    import('@bull-board/api/bullMQAdapter'),
    import('@bull-board/hono'),
  ]);
}

async function loadPackages(load = importPackages) {
  try {
    const [{ createBullBoard }, { BullMQAdapter: Adapter }, { HonoAdapter }] = await load();
    return { createBullBoard, BullMQAdapter: Adapter, HonoAdapter };
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'ERR_MODULE_NOT_FOUND')) throw cause;
    const why = 'the dashboard of the queues needs two packages: npm install @bull-board/api @bull-board/hono';
    throw new HttpProblem('not_offered', why, { field: 'queues' });
  }
}

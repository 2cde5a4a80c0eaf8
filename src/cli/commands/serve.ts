import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { openClient } from '../../api/client/index.ts';
import type { AccessOptions } from '../../api/http/access.ts';
import { ON_ABORT } from '../../api/http/ag-ui/open-runs.ts';
import { WHILE_WAITING } from '../../api/http/ai-sdk/while-waiting.ts';
import { createHttpApp } from '../../api/http/app.ts';
import type { HttpApp, HttpAppOptions } from '../../api/http/app-options.ts';
import { createProtocols } from '../../api/http/protocols.ts';
import { type QueueBoardOptions, withQueueBoard } from '../../api/http/queue-board.ts';
import { serveHttp } from '../../api/http/serve-http.ts';
import { withPage } from '../../api/http/static-page.ts';
import { fieldError, isTurnfoldError } from '../../domain/errors.ts';
import { parseInput } from '../../domain/parse.ts';
import { listSecrets } from '../../host/config/list-secrets.ts';
import { DEFAULT_REDIS_URL, readConfig, readEnvironment } from '../../host/config.ts';
import { examineLoss } from '../../host/health/database-checks.ts';
import { findOk } from '../../host/health/finding.ts';
import type { Fleet } from '../../host/health/fleet.ts';
import { type PageAddress, servePages } from '../../host/health/page-server.ts';
import { createReadiness } from '../../host/health/readiness.ts';
import { createHealthPages } from '../../host/health/worker-pages.ts';
import { createHttpMetrics, type HttpMetrics } from '../../telemetry/http-metrics.ts';
import { createLogger } from '../../telemetry/logs.ts';
import { listenForSignals } from '../interruption.ts';
import { CUT_OFF } from '../output.ts';
import { explainOutage, PROCESS_WAIT_MS, waitForRedis } from '../redis-outage.ts';
import type { CommandContext } from '../run-command.ts';
import { checkServedHost, limitCallers, type ServedHostOptions } from '../served-host.ts';
import { findInspectorPage, openConfiguredFleet } from './inspect.ts';
import { openMcpProtocols } from './mcp.ts';

interface ServeCommandOptions extends ServedHostOptions {
  readonly port: number;
  readonly maxReaders?: number;
  readonly agent?: string;
  readonly whileWaiting: string;
  readonly onAbort: string;
  readonly page?: string;
  readonly inspect?: true;
  /** true: tools that read. A text: agents that clients may also send messages to. */
  readonly mcp?: true | string;
  readonly metricsPort: number;
}

type Client = Awaited<ReturnType<typeof openClient>>;

/** Answers until SIGTERM or SIGINT. Then ends streams, and waits for requests in flight. */
export async function runServe({ output }: CommandContext, options: ServeCommandOptions): Promise<number> {
  const { host, port } = options;
  checkOptions(options);
  const treatments = readTreatments(options);
  const config = readConfig();
  const { redisUrl = DEFAULT_REDIS_URL, redisTls, prefix, shards, queueShards, durability } = config;
  const { shutdownMs, logLevel } = config;
  const logger = createLogger({ level: logLevel, secrets: listSecrets(readEnvironment()) });
  const { interruption, interrupted } = listenForSignals();
  const location = { url: redisUrl, tls: redisTls, prefix };
  const settings = { redisUrl, redisTls, prefix, shards, queueShards, durability };
  await using stack = new AsyncDisposableStack();
  const onError = (error: unknown): void =>
    logger.error({ error }, isTurnfoldError(error, 'database_lost') ? 'database lost' : 'HTTP request failed');
  const wait = { location, waitMs: PROCESS_WAIT_MS, output, signal: interrupted };
  const client = stack.adopt(
    await waitForRedis(wait, () => openClient({ ...settings, onError })).catch(async (error: unknown) => {
      throw await explainOutage(error, location);
    }),
    (opened) => opened.close(),
  );
  const fleet = stack.adopt(await openConfiguredFleet(config, onError), (opened) => opened.close());
  const metrics = createHttpMetrics(() => app.readers, prefix);
  const onRequest: HttpAppOptions['onRequest'] = (request) => metrics.record(request);
  const callers = limitCallers(client, options);
  const ofFrontEnds = createProtocols({ client, agent: options.agent, ...treatments });
  const protocols = [...ofFrontEnds, ...(await openMcpProtocols(client, options.mcp))];
  const services = { protocols, onError, onRequest, fleet: () => fleet.read(), ...callers };
  const app = createApp(client, options, services);
  const address = { port: options.metricsPort, allowedHosts: config.metrics.allowedHosts };
  const pages = stack.adopt(await openPages({ client, fleet, metrics, address }), (opened) => opened.close());
  const fetch = addPages(app.fetch, options, {
    queues: fleet.queues,
    allowsChanges: false,
    onError,
    ...callers,
  });
  const { allowedHosts } = callers;
  const server = await serveHttp({ app: { fetch, close: () => app.close() }, host, port, allowedHosts });
  const metricsUrl = `http://${pages.host}:${pages.port}/metrics`;
  const access = options.keys === true ? 'for callers with an access key' : 'without keys, for this machine only';
  logger.info({ url: server.url, metrics: metricsUrl }, `HTTP server started, ${access}`);
  const { signal } = await interruption;
  logger.info({ signal }, 'HTTP server stopping');
  const outcome = await server.close(shutdownMs);
  logger.info({ outcome }, 'HTTP server stopped');
  return outcome === 'closed' ? 0 : CUT_OFF;
}

function checkOptions({ page, ...host }: ServeCommandOptions): void {
  checkServedHost(host);
  if (page !== undefined && !existsSync(join(page, 'index.html'))) {
    throw fieldError('invalid_config', '--page', `${page} has no index.html`);
  }
}

function addPages(
  routes: HttpApp['fetch'],
  { page, inspect }: ServeCommandOptions,
  board: QueueBoardOptions,
): HttpApp['fetch'] {
  const fetch = page === undefined ? routes : withPage(page, routes);
  if (inspect !== true) return fetch;
  return withQueueBoard(withPage(findInspectorPage(), fetch, '/inspect'), board);
}

/** @throws invalid_config for an unknown treatment */
function readTreatments({ whileWaiting, onAbort }: ServeCommandOptions) {
  return {
    whileWaiting: parseInput(z.enum(WHILE_WAITING), whileWaiting, '--while-waiting', 'invalid_config'),
    onAbort: parseInput(z.enum(ON_ABORT), onAbort, '--on-abort', 'invalid_config'),
  };
}

function createApp(
  client: Client,
  { maxReaders }: ServeCommandOptions,
  services: Pick<HttpAppOptions, 'onError' | 'onRequest' | 'fleet' | 'protocols'> & AccessOptions,
): HttpApp {
  return createHttpApp({ client, ...(maxReaders !== undefined && { limits: { maxReaders } }), ...services });
}

interface PageParts {
  readonly client: Client;
  readonly fleet: Pick<Fleet, 'readLoss'>;
  readonly metrics: HttpMetrics;
  readonly address: PageAddress;
}

async function openPages({ client, fleet, metrics, address }: PageParts) {
  const readiness = createReadiness([
    {
      name: 'redis',
      run: async () => {
        await client.conversations({ limit: 1 });
        return findOk('redis', 'Redis answers');
      },
      remedy: 'Start Redis, or correct REDIS_URL.',
    },
    {
      name: 'database',
      run: async () => examineLoss(await fleet.readLoss()),
      remedy: 'Start Redis, or correct REDIS_URL.',
    },
  ]);
  return await servePages({
    ...address,
    pages: { '/metrics': () => metrics.render(), ...createHealthPages(readiness) },
  });
}

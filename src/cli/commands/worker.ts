import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import { fieldError, isTurnfoldError } from '../../domain/errors.ts';
import type { EventListener } from '../../domain/events.ts';
import { listSecrets } from '../../host/config/list-secrets.ts';
import { readConfig, readEnvironment } from '../../host/config.ts';
import { waitUntilWritable } from '../../host/local-redis/connection.ts';
import { startWorkers, type Workers } from '../../host/start-workers.ts';
import type { RedisLocation } from '../../store/redis/address.ts';
import { readRedisAddress } from '../../store/redis/address.ts';
import { reconnectRefused } from '../../store/redis/server-connections.ts';
import { createLogger, logContents, logEvents } from '../../telemetry/logs.ts';
import { foldOutages } from '../../telemetry/outages.ts';
import { flushSpans } from '../../telemetry/traces.ts';
import { listenForSignals } from '../interruption.ts';
import { loadAgents } from '../load-agents.ts';
import { readRoles } from '../option-values.ts';
import { CUT_OFF, MISCONFIGURED, type Output, reportError } from '../output.ts';
import { placeAgentError, readPolicySources } from '../policy-file.ts';
import { explainOutage, explainRefusal } from '../redis-outage.ts';
import type { CommandContext } from '../run-command.ts';

interface WorkerOptions {
  readonly roles: string;
  readonly agents: string;
  readonly policy?: string;
  readonly shadow?: string;
}

/** Runs until SIGTERM or SIGINT. Then hands back turns, so that other workers continue them. */
export async function runWorker({ output }: CommandContext, options: WorkerOptions): Promise<number> {
  const roles = readRoles(options.roles);
  const { redisUrl, redisTls, logLevel, logsContent, durability: _, grafanaUrl: __, ...config } = readConfig();
  if (redisUrl === undefined) {
    throw fieldError('invalid_config', 'REDIS_URL', 'not set. A worker needs the address of its Redis.');
  }
  const location = { url: redisUrl, tls: redisTls, prefix: config.prefix };
  const sources = await readPolicySources(options, output);
  const agents = await loadAgents(options.agents, output);
  const secrets = listSecrets(readEnvironment());
  const logger = createLogger({ level: logLevel, showsContent: logsContent, secrets });
  const { interruption } = listenForSignals(true);
  const { onEvent, refused } = logWorker(logger, location);
  const started = startWorkers({
    ...config,
    redisUrl,
    redisTls,
    policy: sources.policy.policy,
    ...(sources.shadow && { shadow: sources.shadow.policy }),
    agents,
    agentsModule: options.agents,
    roles,
    onEvent,
    secrets,
    ...(logsContent && { onContent: logContents(logger) }),
  }).catch((error: unknown) => {
    throw placeAgentError(error, agents, sources);
  });
  void exitRefused(location, started, output);
  // A start waits for Redis without a time limit. A signal ends this wait at once, because the worker owns no turn yet.
  const workers = await Promise.race([started, interruption.then(() => undefined)]);
  if (workers !== undefined) logger.info({ roles, metrics: workers.metricsUrl }, 'worker started');
  const end = await Promise.race([interruption.then(({ signal }) => ({ signal })), refused]);
  logger.info(end, 'worker stopping');
  const outcome = (await workers?.close()) ?? 'closed';
  await flushSpans();
  logger.info({ outcome }, 'worker stopped');
  // Aborted work may still run. Its leases lapse, and other workers continue it.
  await setImmediate();
  if ('why' in end) process.exit(MISCONFIGURED);
  process.exit(outcome === 'closed' ? 0 : CUT_OFF);
}

/** Logs events, and each outage once. `refused` resolves if this process can never use its Redis. */
function logWorker(logger: ReturnType<typeof createLogger>, location: RedisLocation) {
  const { promise: refused, resolve } = Promise.withResolvers<{ readonly why: 'denied' | 'incompatible' }>();
  const report = foldOutages({
    logger,
    listener: logEvents(logger),
    explain: (error) => explainOutage(error, location),
    untilBack: async (kind) => {
      await waitUntilWritable(location, kind === 'full');
      reconnectRefused();
    },
    onDenied: () => resolve({ why: 'denied' }),
  });
  const onEvent: EventListener = (event) => {
    report(event);
    const isIncompatible = event.type === 'worker_failed' && event.where === 'database';
    if (isIncompatible && isTurnfoldError(event.error, 'incompatible_store')) resolve({ why: 'incompatible' });
  };
  return { onEvent, refused };
}

/** How long a refusal by one Cluster node or Sentinel is ignored, because another node may accept the client. */
const SEVERAL_NODES_MS = 10_000;

/** Ends the process if Redis refuses this client. Such a Redis may close connections without an error. */
async function exitRefused(location: RedisLocation, started: Promise<Workers>, output: Output): Promise<void> {
  let hasStarted = false;
  started.then(
    () => (hasStarted = true),
    () => undefined, // `runWorker` reports the failed start.
  );
  const error = await explainRefusal(location);
  if (error === undefined) return;
  if (readRedisAddress(location.url)?.kind !== 'single') await delay(SEVERAL_NODES_MS, undefined, { ref: false });
  if (!hasStarted) process.exit(reportError(output, error));
}

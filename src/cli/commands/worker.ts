import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import { listSecrets } from '../../config/list-secrets.ts';
import { readConfig, readEnvironment } from '../../config.ts';
import { fieldError } from '../../domain/errors.ts';
import { waitUntilWritable } from '../../local-redis/connection.ts';
import type { RedisLocation } from '../../redis/address.ts';
import { readRedisAddress } from '../../redis/address.ts';
import { startWorkers, type Workers } from '../../runtime/start-workers.ts';
import { createLogger, logContents, logEvents } from '../../telemetry/logs.ts';
import { foldOutages } from '../../telemetry/outages.ts';
import { flushSpans } from '../../telemetry/traces.ts';
import { listenForSignals } from '../interruption.ts';
import { loadAgents } from '../load-agents.ts';
import { readRoles } from '../option-values.ts';
import { MISCONFIGURED, type Output, reportError } from '../output.ts';
import { placeAgentError, readPolicySources } from '../policy-file.ts';
import { explainError, explainRefusal } from '../redis-outage.ts';
import type { CommandContext } from '../run-command.ts';

export interface WorkerOptions {
  readonly roles: string;
  readonly agents: string;
  readonly policy?: string;
  readonly shadow?: string;
}

/** `EX_TEMPFAIL` of sysexits: the deadline cut off work, which other workers continue. */
const CUT_OFF_EXIT_CODE = 75;

/** Runs workers until SIGTERM or SIGINT, then hands back their leases. */
export async function runWorker({ output }: CommandContext, options: WorkerOptions): Promise<number> {
  const roles = readRoles(options.roles);
  const { redisUrl, redisTls, logLevel, logsContent, durability: _, ...config } = readConfig();
  if (redisUrl === undefined) {
    throw fieldError('invalid_config', 'REDIS_URL', 'not set. A worker needs the address of its Redis.');
  }
  const location = { url: redisUrl, tls: redisTls };
  const sources = await readPolicySources(options, output);
  const agents = await loadAgents(options.agents, output);
  const secrets = listSecrets(readEnvironment());
  const logger = createLogger({ level: logLevel, showsContent: logsContent, secrets });
  const { interruption } = listenForSignals();
  const denied = Promise.withResolvers<'denied'>();
  const onEvent = foldOutages({
    logger,
    listener: logEvents(logger),
    explain: (error) => explainError(error, location),
    untilBack: () => waitUntilWritable(location),
    onDenied: () => denied.resolve('denied'),
  });
  const started = startWorkers({
    ...config,
    redisUrl,
    redisTls,
    policy: sources.policy.policy,
    ...(sources.shadow && { shadow: sources.shadow.policy }),
    agents,
    roles,
    onEvent,
    secrets,
    ...(logsContent && { onContent: logContents(logger) }),
  }).catch((error: unknown) => {
    throw placeAgentError(error, agents, sources);
  });
  void exitRefused(location, started, output);
  // A start waits for Redis without limit. A signal ends the wait: a worker that has not started has claimed nothing.
  const workers = await Promise.race([started, interruption.then(() => undefined)]);
  if (workers !== undefined) logger.info({ roles, metrics: workers.metricsUrl }, 'worker started');
  const why = await Promise.race([interruption.then(({ signal }) => signal), denied.promise]);
  logger.info(why === 'denied' ? { why } : { signal: why }, 'worker stopping');
  const outcome = (await workers?.close()) ?? 'closed';
  await flushSpans();
  logger.info({ outcome }, 'worker stopped');
  // Work cut off by the deadline must not keep the process alive. Its leases lapse and other workers continue.
  await setImmediate();
  if (why === 'denied') process.exit(MISCONFIGURED);
  process.exit(outcome === 'closed' ? 0 : CUT_OFF_EXIT_CODE);
}

/** Grace for a Cluster or Sentinels: another node may accept a client that one node refuses. */
const SEVERAL_NODES_MS = 10_000;

/**
 * Ends the process if Redis refuses its client. Such a Redis may close connections without an error, and the start would
 * wait silently. The exit is immediate, because the worker has claimed nothing yet.
 */
async function exitRefused(location: RedisLocation, started: Promise<Workers>, output: Output): Promise<void> {
  let hasStarted = false;
  started.then(
    () => (hasStarted = true),
    () => undefined, // runWorker reports the failed start
  );
  const error = await explainRefusal(location);
  if (error === undefined) return;
  if (readRedisAddress(location.url)?.kind !== 'single') await delay(SEVERAL_NODES_MS, undefined, { ref: false });
  if (!hasStarted) process.exit(reportError(output, error));
}

import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import { listSecrets } from '../../config/list-secrets.ts';
import { readConfig, readEnvironment } from '../../config.ts';
import { TurnfoldError } from '../../domain/errors.ts';
import { untilAnswer } from '../../local-redis/until-answer.ts';
import { type RedisLocation, readRedisAddress } from '../../redis/address.ts';
import { startWorkers, type Workers } from '../../runtime/start-workers.ts';
import { createLogger, logContents, logEvents } from '../../telemetry/logs.ts';
import { foldOutages } from '../../telemetry/outages.ts';
import { flushSpans } from '../../telemetry/traces.ts';
import { explainError, explainRefusal } from '../explain-outage.ts';
import { listenForSignals } from '../interruption.ts';
import { loadAgents } from '../load-agents.ts';
import { MISCONFIGURED, type Output, reportError } from '../output.ts';
import { placeAgentError, readPolicySources } from '../policy-file.ts';
import { readRoles } from '../read-roles.ts';

export interface WorkerOptions {
  /** separated by commas */
  readonly roles: string;
  readonly agents: string;
  readonly policy?: string;
  readonly shadow?: string;
}

/** As `EX_TEMPFAIL` of sysexits: others go on with what the deadline of the stop cut off. */
const CUT_OFF_EXIT_CODE = 75;

/** Runs the workers of this process until SIGTERM or SIGINT. Then hands back what is in hand. */
export async function runWorker(options: WorkerOptions, output: Output): Promise<number> {
  const roles = readRoles(options.roles);
  const { redisUrl, redisTls, logLevel, logsContent, durability: _, ...config } = readConfig();
  if (redisUrl === undefined) {
    throw new TurnfoldError('invalid_config', 'REDIS_URL: not set; a worker needs to know its Redis', {
      field: 'REDIS_URL',
    });
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
    untilBack: () => untilAnswer(location),
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
  // While Redis is away a start waits for it, however long: told to stop, it is left, for it has taken nothing yet.
  const workers = await Promise.race([started, interruption.then(() => undefined)]);
  if (workers !== undefined) logger.info({ roles, metrics: workers.metricsUrl }, 'worker started');
  const why = await Promise.race([interruption.then(({ signal }) => signal), denied.promise]);
  logger.info(why === 'denied' ? { why } : { signal: why }, 'worker stopping');
  const outcome = (await workers?.close()) ?? 'closed';
  await flushSpans();
  logger.info({ outcome }, 'worker stopped');
  // What a deadline left behind must not keep the process: its leases lapse and others go on.
  await setImmediate();
  if (why === 'denied') process.exit(MISCONFIGURED);
  process.exit(outcome === 'closed' ? 0 : CUT_OFF_EXIT_CODE);
}

/** Another node of a Cluster, or another Sentinel, may serve a start that one node refuses. */
const SEVERAL_NODES_MS = 10_000;

/**
 * A Redis that refuses us may hang up on a connection without an error, and the start would wait for it and say nothing. Nothing
 * was taken yet, so the process ends at once: a TLS socket that is closed amid its handshake fails later, unheard.
 */
async function exitRefused(location: RedisLocation, started: Promise<Workers>, output: Output): Promise<void> {
  let hasStarted = false;
  started.then(
    () => (hasStarted = true),
    () => undefined, // told by the command
  );
  const error = await explainRefusal(location);
  if (error === undefined) return;
  if (readRedisAddress(location.url)?.kind !== 'single') await delay(SEVERAL_NODES_MS, undefined, { ref: false });
  if (!hasStarted) process.exit(reportError(output, error));
}

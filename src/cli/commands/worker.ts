import { readConfig } from '../../config.ts';
import { TurnfoldError } from '../../domain/errors.ts';
import { type Role, startWorkers } from '../../runtime/start-workers.ts';
import { createLogger, logEvents } from '../../telemetry/logs.ts';
import { readPolicyFile } from '../files.ts';
import { loadAgents } from '../load-agents.ts';
import type { Output } from '../output.ts';

export interface WorkerOptions {
  readonly roles: readonly Role[];
  readonly agents: string;
  readonly policy?: string;
}

/** Runs the workers of this process until SIGTERM or SIGINT; then finishes or hands back what is under way. */
export async function runWorker(options: WorkerOptions, output: Output): Promise<number> {
  const { redisUrl, metrics, logLevel, ...config } = readConfig();
  if (redisUrl === undefined) {
    throw new TurnfoldError('invalid_config', 'REDIS_URL: not set; a worker needs to know its Redis', {
      field: 'REDIS_URL',
    });
  }
  const { policy, warnings } =
    options.policy === undefined ? { policy: {}, warnings: [] } : await readPolicyFile(options.policy);
  for (const warning of warnings) output.note(`turnfold: warning: ${warning}`);
  const logger = createLogger({ level: logLevel });
  const stopped = untilSignal();
  const workers = await startWorkers({
    ...config,
    redisUrl,
    metrics,
    policy,
    agents: await loadAgents(options.agents),
    roles: options.roles,
    onEvent: logEvents(logger),
  });
  logger.info({ roles: options.roles, metrics: workers.metricsUrl }, 'worker started');
  const signal = await stopped;
  logger.info({ signal }, 'worker stopping');
  const outcome = await workers.close();
  logger.info({ outcome }, 'worker stopped');
  // What a deadline left behind must not keep the process: its leases lapse and others go on.
  setImmediate(() => process.exit(0));
  return 0;
}

/** The first signal asks to stop; a second one, by default handling, ends the process. */
function untilSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve(signal));
  });
}

import type { Logger } from 'pino';
import { isTurnfoldError } from '../domain/errors.ts';
import type { EventListener, WorkerEvent } from '../domain/events.ts';

export interface OutageOptions {
  readonly logger: Logger;
  /** Receives every event, except failures that belong to a Redis outage that was reported before. */
  readonly listener: EventListener;
  /** Adds a likely cause to the error of an outage. */
  readonly explain: (error: unknown) => Promise<unknown>;
  /** Resolves when Redis is reachable again. @throws redis_denied if Redis is up and denies access */
  readonly untilBack: () => Promise<void>;
  /** Called once when Redis denies access permanently. The denial is logged, and turnfold stops watching Redis. */
  readonly onDenied?: () => void;
}

const MS_A_SECOND = 1_000;

/**
 * Logs the start and the end of a Redis outage as one line each, although every connection reports the outage. A
 * separate ping detects the end, at most a second late.
 */
export function foldOutages({ logger, listener, explain, untilBack, onDenied }: OutageOptions): EventListener {
  let isAway = false;
  async function watch(event: Failure): Promise<void> {
    const since = performance.now();
    let error: unknown;
    try {
      error = await explain(event.error);
      listener({ ...event, error });
    } catch (failure) {
      listener(event);
      throw failure;
    }
    try {
      await untilBack();
    } catch (denial) {
      if (!isTurnfoldError(denial, 'redis_denied')) throw denial;
      // Redis is reachable again but denies access, which is a new failure.
      if (!isTurnfoldError(error, 'redis_denied')) listener({ ...event, error: denial });
      onDenied?.();
      return;
    }
    isAway = false;
    const awayMs = Math.round(performance.now() - since);
    logger.info({ awayMs }, `redis is back after ${Math.round(awayMs / MS_A_SECOND)} s`);
  }
  return (event) => {
    if (!isOutage(event)) return listener(event);
    if (isAway) return;
    isAway = true;
    watch(event).catch((error: unknown) => {
      isAway = false;
      listener({ type: 'worker_failed', where: 'outage', error });
    });
  };
}

type Failure = Extract<WorkerEvent, { type: 'worker_failed' }>;

function isOutage(event: WorkerEvent): event is Failure {
  if (event.type !== 'worker_failed') return false;
  return isTurnfoldError(event.error, 'redis_unavailable') || isTurnfoldError(event.error, 'redis_denied');
}

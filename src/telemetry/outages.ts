import type { Logger } from 'pino';
import { isTurnfoldError } from '../domain/errors.ts';
import type { EventListener, WorkerEvent } from '../domain/events.ts';

export interface OutageOptions {
  readonly logger: Logger;
  /** told of everything but what an outage that is known already makes fail */
  readonly listener: EventListener;
  /** the error with what can be found out of why Redis is away */
  readonly explain: (error: unknown) => Promise<unknown>;
  /** throws redis_denied if Redis is there and denies access */
  readonly untilBack: () => Promise<void>;
  /** called once access is denied for certain: the failure is written, and nothing more is watched */
  readonly onDenied?: () => void;
}

const MS_A_SECOND = 1_000;

/**
 * Makes an outage of Redis one line, though every connection tells of it, and its end another. That the connections are back
 * is taken from a question of our own, at most a second after them.
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
      // An outage that ends with a denial: the denial is news.
      if (!isTurnfoldError(error, 'redis_denied')) listener({ ...event, error: denial });
      onDenied?.();
      return;
    }
    isAway = false;
    const awayMs = Math.round(performance.now() - since);
    logger.info({ awayMs }, `redis is back after ${Math.round(awayMs / MS_A_SECOND)} s`);
  }
  return (event) => {
    if (!tellsOfOutage(event)) return listener(event);
    if (isAway) return;
    isAway = true;
    watch(event).catch((error: unknown) => {
      isAway = false;
      listener({ type: 'worker_failed', where: 'outage', error });
    });
  };
}

type Failure = Extract<WorkerEvent, { type: 'worker_failed' }>;

function tellsOfOutage(event: WorkerEvent): event is Failure {
  if (event.type !== 'worker_failed') return false;
  return isTurnfoldError(event.error, 'redis_unavailable') || isTurnfoldError(event.error, 'redis_denied');
}

import type { Logger } from 'pino';
import { isTurnfoldError } from '../domain/errors.ts';
import type { EventListener, WorkerEvent } from '../domain/events.ts';

interface OutageOptions {
  readonly logger: Logger;
  /** Receives every event, except further failures of a Redis outage that was reported. */
  readonly listener: EventListener;
  /** Adds a likely cause to the error of an outage. */
  readonly explain: (error: unknown) => Promise<unknown>;
  /** Resolves when Redis is back. After `redis_full`, Redis must also have memory for writes. @throws redis_denied */
  readonly untilBack: (kind: OutageKind) => Promise<void>;
  /** Called once when Redis denies access for good. turnfold then stops watching Redis. */
  readonly onDenied?: () => void;
}

/** Kinds of outage. A full Redis still answers reads, so it may become unreachable during the outage. */
type OutageKind = 'away' | 'full';

const MS_A_SECOND = 1_000;

/** Logs each outage once, although every connection reports it. A ping detects the end, at most a second late. */
export function foldOutages({ logger, listener, explain, untilBack, onDenied }: OutageOptions): EventListener {
  const begun = new Set<OutageKind>();
  async function watch(event: Failure, kind: OutageKind): Promise<void> {
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
      await untilBack(kind);
    } catch (denial) {
      if (!isTurnfoldError(denial, 'redis_denied')) throw denial;
      // Redis is reachable again but denies access, which is a new failure.
      if (!isTurnfoldError(error, 'redis_denied')) listener({ ...event, error: denial });
      onDenied?.();
      return;
    }
    begun.delete(kind);
    const awayMs = Math.round(performance.now() - since);
    const what = kind === 'full' ? 'redis has memory again' : 'redis is back';
    logger.info({ awayMs }, `${what} after ${Math.round(awayMs / MS_A_SECOND)} s`);
  }
  return (event) => {
    const outage = findOutage(event);
    if (outage === undefined) return listener(event);
    const { failure, kind } = outage;
    if (begun.has(kind)) return;
    begun.add(kind);
    watch(failure, kind).catch((error: unknown) => {
      begun.delete(kind);
      listener({ type: 'worker_failed', where: 'outage', error });
    });
  };
}

type Failure = Extract<WorkerEvent, { type: 'worker_failed' }>;

function findOutage(event: WorkerEvent): { readonly failure: Failure; readonly kind: OutageKind } | undefined {
  if (event.type !== 'worker_failed') return undefined;
  const { error } = event;
  if (isTurnfoldError(error, 'redis_full')) return { failure: event, kind: 'full' };
  const isAway = isTurnfoldError(error, 'redis_unavailable') || isTurnfoldError(error, 'redis_denied');
  return isAway ? { failure: event, kind: 'away' } : undefined;
}

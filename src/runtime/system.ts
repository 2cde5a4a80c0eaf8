import { monotonicFactory } from 'ulidx';
import type { Clock, IdSource } from '../domain/ports/clock.ts';
import { SoloLock } from '../workers/solo-lock.ts';

export const systemClock: Clock = { now: () => Date.now() };

/** Creates ULIDs in ascending order within the process. */
export function createIdSource(): IdSource {
  const next = monotonicFactory();
  return { next: () => next() };
}

/**
 * Lets a turn run alone after its worker died twice. All workers of the process share this lock, because a turn that
 * kills the process kills all of them (invariant I10).
 */
export const processLock = new SoloLock();

import { monotonicFactory } from 'ulidx';
import type { Clock, IdSource } from '../domain/ports/clock.ts';
import { SoloLock } from '../workers/solo-lock.ts';

export const systemClock: Clock = { now: () => Date.now() };

/** ULIDs that ascend within the process. */
export function createIdSource(): IdSource {
  const next = monotonicFactory();
  return { next: () => next() };
}

/** One lock for the process, for all its workers: a turn that kills the process kills them all (I10). */
export const processLock = new SoloLock();

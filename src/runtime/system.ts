import { monotonicFactory } from 'ulidx';
import type { Clock, IdSource } from '../domain/ports/clock.ts';
import { SoloLock } from '../workers/solo-lock.ts';

/** The process's clock and ids: the only time and randomness that decisions see. */
export const systemClock: Clock = { now: () => Date.now() };

/** ULIDs, ascending within the process. */
export function createIdSource(): IdSource {
  const next = monotonicFactory();
  return { next: () => next() };
}

/** One for the process, however many workers it starts: a turn that kills it kills them all. */
export const processLock = new SoloLock();

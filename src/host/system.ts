import type { Clock } from '../domain/clock.ts';
import { SoloLock } from '../workers/solo-lock.ts';

export const systemClock: Clock = { now: () => Date.now() };

/** Lock that all workers of the process share, because a turn that kills the process kills all of them (I10). */
export const processLock = new SoloLock();

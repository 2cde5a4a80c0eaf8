import type { Clock } from '../domain/clock.ts';
import { SoloLock } from '../workers/solo-lock.ts';

export const systemClock: Clock = { now: () => Date.now() };

/**
 * Lets a turn run alone after its worker died twice. All workers of the process share this lock, because a turn that
 * kills the process kills all of them (invariant I10).
 */
export const processLock = new SoloLock();

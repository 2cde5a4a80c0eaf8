import type { Clock } from '../domain/clock.ts';
import { SoloLock } from '../workers/solo-lock.ts';

export const systemClock: Clock = { now: () => Date.now() };

/**
 * Lets a turn run alone after its worker died twice. Shared by all workers of the process, because they die together
 * (I10).
 */
export const processLock = new SoloLock();

import { randomFillSync } from 'node:crypto';
import type { IdSource } from '../domain/ports/clock.ts';
import { UlidSource } from '../domain/ulid.ts';

/** Creates ULIDs in ascending order within the process, for turns, wakes and owners. */
export function createIdSource(): IdSource {
  return new UlidSource({ now: () => Date.now() }, randomFillSync);
}

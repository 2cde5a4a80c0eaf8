import { randomFillSync } from 'node:crypto';
import { ownerPrefix } from '../domain/ids.ts';
import type { IdSource } from '../domain/ports/clock.ts';
import { UlidSource } from '../domain/ulid.ts';

/** Creates ULIDs in ascending order within the process, for turns, wakes and owners. */
export function createIdSource(): IdSource {
  return new UlidSource({ now: () => Date.now() }, randomFillSync);
}

/**
 * Creates the ids of owners: the name of their worker and a count. So a lease names its worker, and no field of a record
 * and no argument of a script is needed for this.
 */
export function createOwnerSource(worker: string): IdSource {
  let count = 0;
  return {
    next: () => {
      count += 1;
      return `${ownerPrefix(worker)}${count.toString(36)}`;
    },
  };
}

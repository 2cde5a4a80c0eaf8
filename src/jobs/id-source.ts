import { randomFillSync } from 'node:crypto';
import type { IdSource } from '../domain/clock.ts';
import { ownerPrefix } from '../domain/ids.ts';
import { UlidSource } from '../domain/ulid.ts';

/** Creates ULIDs in ascending order within the process, for turns, wakes and owners. */
export function createIdSource(): IdSource {
  return new UlidSource({ now: () => Date.now() }, randomFillSync);
}

/**
 * Creates the ids of owners. An id is the name of the worker and a count, so the owner of a lease names the worker. Records
 * and scripts need no further field for the worker.
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

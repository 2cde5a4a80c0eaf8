import { randomFillSync } from 'node:crypto';
import type { IdSource } from '../domain/clock.ts';
import { ownerPrefix } from '../domain/ids.ts';
import { UlidSource } from '../domain/ulid.ts';

/** Source of ULIDs, which ascend within the process. */
export function createIdSource(): IdSource {
  return new UlidSource(Date, randomFillSync);
}

/**
 * Source of owner ids. An id begins with the name of its worker, so no record needs a separate field for the worker.
 */
export function createOwnerSource(worker: string): IdSource {
  const prefix = ownerPrefix(worker);
  let count = 0;
  return {
    next: () => {
      count += 1;
      return `${prefix}${count.toString(36)}`;
    },
  };
}

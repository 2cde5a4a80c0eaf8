import { randomFillSync } from 'node:crypto';
import { monotonicFactory } from 'ulidx';
import { ownerPrefix } from '../domain/ids.ts';
import type { IdSource } from '../domain/ports/clock.ts';

/** Random bytes that are drawn at a time. An id needs 16 bytes. ulidx alone draws each of them by a call of its own. */
const DRAWN_BYTES = 4_096;

/** Creates ULIDs in ascending order within the process, for turns, wakes and owners. */
export function createIdSource(): IdSource {
  const bytes = new Uint8Array(DRAWN_BYTES);
  let used = DRAWN_BYTES;
  const next = monotonicFactory(() => {
    if (used === DRAWN_BYTES) {
      randomFillSync(bytes);
      used = 0;
    }
    used += 1;
    return (bytes[used - 1] ?? 0) / 256;
  });
  return { next: () => next() };
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

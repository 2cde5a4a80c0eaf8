import type { EventScope } from '../../domain/events.ts';
import type { Lost } from '../../domain/lease.ts';

/**
 * Thrown when the lease of the turn was lost, or was not renewed in time (`expired`). After that, nothing more may be
 * written. A lost turn is thrown as an error because an aborted call can end in no other way. The delivery converts the
 * error to an outcome.
 */
export class LostTurn extends Error {
  readonly why: Lost['status'] | 'expired';

  constructor(why: LostTurn['why']) {
    super(`the worker must not write anything more for this turn, because it lost the turn's lease (${why})`);
    this.name = 'LostTurn';
    this.why = why;
  }
}

/**
 * Thrown when a delivery ends with an unexpected error, its `cause`. `scope` has the ids for the event that reports the
 * error.
 */
export class BrokenDelivery extends Error {
  readonly scope: EventScope;

  constructor(scope: EventScope, cause: unknown) {
    super('an unexpected error ended the delivery of a turn', { cause });
    this.name = 'BrokenDelivery';
    this.scope = scope;
  }
}

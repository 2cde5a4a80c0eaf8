import type { EventScope } from '../../domain/events.ts';
import type { Lost } from '../../domain/ports/turn-store.ts';

/**
 * The lease of the turn was lost, or could not be renewed in time (`expired`). Nothing more may be written. This is an
 * error because an aborted call can end in no other way. The delivery turns it into an outcome.
 */
export class LostTurn extends Error {
  readonly why: Lost['status'] | 'expired';

  constructor(why: LostTurn['why']) {
    super(`lease lost: ${why}`);
    this.name = 'LostTurn';
    this.why = why;
  }
}

/** A delivery ended with an unexpected error, its `cause`. `scope` has the ids for the report. */
export class BrokenDelivery extends Error {
  readonly scope: EventScope;

  constructor(scope: EventScope, cause: unknown) {
    super('the delivery failed', { cause });
    this.name = 'BrokenDelivery';
    this.scope = scope;
  }
}

import type { Lost } from '../../domain/ports/turn-store.ts';

/**
 * The turn is this owner's no more, as the store says, or its lease could not be renewed in time (`expired`). Ends the delivery
 * from wherever it is met; nothing more is written. Thrown, because an aborted call can answer in no other way; deliveries
 * turn it back into an answer.
 */
export class LostTurn extends Error {
  readonly why: Lost['status'] | 'expired';

  constructor(why: LostTurn['why']) {
    super(`the turn was lost: ${why}`);
    this.name = 'LostTurn';
    this.why = why;
  }
}

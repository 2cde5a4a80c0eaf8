/**
 * The conversation has another owner (`fenced`), was erased (`gone`), or its lease could not be renewed in time
 * (`expired`). Ends the delivery from wherever it is met; nothing more is written. Thrown, because an aborted call
 * can answer in no other way; deliveries turn it back into an answer.
 */
export class LostTurn extends Error {
  readonly why: 'fenced' | 'gone' | 'expired';

  constructor(why: LostTurn['why']) {
    super(`the turn was lost: ${why}`);
    this.name = 'LostTurn';
    this.why = why;
  }
}

import type { EventScope } from '../../domain/events.ts';

/** A delivery broke off with an error that nobody foresaw, `cause`: thrown to whoever reports it, with the ids that it is told with. */
export class BrokenDelivery extends Error {
  readonly scope: EventScope;

  constructor(scope: EventScope, cause: unknown) {
    super('the delivery broke off', { cause });
    this.name = 'BrokenDelivery';
    this.scope = scope;
  }
}

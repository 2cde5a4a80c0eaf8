import type { Lost, TurnLease } from '../../domain/ports/turn-store.ts';

/** A lease as the first arguments of every fenced script. */
export function leaseArgs({ turn, owner, epoch }: TurnLease): (string | number)[] {
  return [turn, owner, epoch];
}

/** Replies of scripts that say no more than how it went. */
export function decodeStatus<Status extends string>(reply: unknown): { readonly status: Status } | Lost {
  return { status: reply as Status };
}

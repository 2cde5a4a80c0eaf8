import type { TurnLease } from '../../domain/ports/turn-store.ts';

/** A lease as the first arguments of every fenced script. */
export function turnLeaseArgs({ turn, owner, epoch }: TurnLease): (string | number)[] {
  return [turn, owner, epoch];
}

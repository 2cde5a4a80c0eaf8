import type { Shortfall } from '../domain/durability.ts';
import { TurnfoldError } from '../domain/errors.ts';

/** It is written, and may be lost with the master until replicas hold it. The same id again asks for that once more. */
export function acceptedUnsure(field: 'turn' | 'operation', id: string, shortfall: Shortfall): TurnfoldError {
  const { wanted, reached } = shortfall;
  const held =
    reached === undefined
      ? 'nobody could say who holds it'
      : `${reached.replicas} of ${wanted.replicas} replicas hold it`;
  return new TurnfoldError(
    'accepted_unsure',
    `${field}: ${id} is written, but ${held} in time. The same ${field} again is safe, and answers once it is held.`,
    { field, details: { [field]: id, ...shortfall } },
  );
}

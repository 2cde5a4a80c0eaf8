import { hash } from 'node:crypto';
import { fieldError, type TurnfoldError } from '../../domain/errors.ts';
import { nameOperation, operationId } from '../../domain/ids.ts';
import { isMapping } from '../../domain/parse.ts';
import type { ClientPorts } from './ports.ts';

/** 132 bits. Each stored turn has a hash, so it is short. */
const HASH_CHARACTERS = 22;

/** Hashes the input of a call, by which the store recognizes a repeated call. The order of keys does not count. */
export function hashPayload(payload: unknown): string {
  const json = JSON.stringify(payload, (_, value: unknown) =>
    isMapping(value) ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))) : value,
  );
  return hash('sha256', json, 'base64url').slice(0, HASH_CHARACTERS);
}

/** @param id the caller's id. Without one, the call gets a new id, which an error names */
export function nameClientCall(
  { ids }: Pick<ClientPorts, 'ids'>,
  id: string | undefined,
  payload: readonly unknown[],
): string {
  return nameOperation(id ?? ids.next(), hashPayload(payload));
}

export function operationConflict(operation: string): TurnfoldError {
  const why = `${operationId(operation)} was used before for a call with other input. Use a new operation id`;
  return fieldError('operation_conflict', 'operation', why);
}

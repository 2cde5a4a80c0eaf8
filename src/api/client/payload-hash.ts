import { hash } from 'node:crypto';
import { fieldError, type TurnfoldError } from '../../domain/errors.ts';
import { nameOperation, operationId } from '../../domain/operation.ts';
import { isMapping } from '../../domain/parse.ts';
import type { ClientPorts } from './ports.ts';

/** 132 bits of the hash. Each stored turn has one. */
const HASH_CHARACTERS = 22;

/**
 * Hash of what a call asks for, by which the store recognizes a repeated call. The order of keys in objects does not
 * count.
 */
export function hashPayload(payload: unknown): string {
  const json = JSON.stringify(payload, (_, value: unknown) => (isMapping(value) ? sortKeys(value) : value));
  return hash('sha256', json, 'base64url').slice(0, HASH_CHARACTERS);
}

function sortKeys(value: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * Names the operation of a call for the store.
 * @param id the caller's id. Without one, the call gets a new id, under which the caller can repeat it.
 * @param payload the kind of the call, and all that the call asks for
 */
export function nameClientCall(
  { ids }: Pick<ClientPorts, 'ids'>,
  id: string | undefined,
  payload: readonly unknown[],
): string {
  return nameOperation(id ?? ids.next(), hashPayload(payload));
}

/** Error for an operation id that an earlier call used for something else. */
export function operationConflict(operation: string): TurnfoldError {
  const why = `${operationId(operation)} was used before for a call with other input. Use a new operation id`;
  return fieldError('operation_conflict', 'operation', why);
}

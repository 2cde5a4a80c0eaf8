import { hash } from 'node:crypto';
import { z } from 'zod';
import { fieldError, isTurnfoldError } from '../../domain/errors.ts';
import type { Operation } from '../contract/operation.ts';
import { HttpProblem } from './problem.ts';

export const IDEMPOTENCY_HEADER = 'idempotency-key';
const MAX_KEY_CHARACTERS = 255;

export const idempotencyKeySchema = z
  .string()
  .min(1)
  .max(MAX_KEY_CHARACTERS)
  .describe(
    'Key that makes the request repeatable. A repeated request with the same key and body has no second effect and gets the same answer. The same key with another body gets 422.',
  );

type KeyedRoute = Pick<Operation, 'keyName' | 'repeatedBy'> & { readonly operation: string };

/**
 * Derives the id of a write from the header. The store keeps the id, so every server recognizes a repeated request.
 * @returns undefined if the request names no id
 */
export function readOperation(
  { request, route }: { readonly request: Request; readonly route: KeyedRoute },
  given: string | undefined,
): string | undefined {
  const { operation, keyName = operation, repeatedBy = 'operation' } = route;
  const key = request.headers.get(IDEMPOTENCY_HEADER);
  if (key === null) return given;
  if (given !== undefined) {
    throw fieldError('invalid_input', IDEMPOTENCY_HEADER, `send either this header or \`${repeatedBy}\`, not both`);
  }
  if (key.length === 0 || key.length > MAX_KEY_CHARACTERS) {
    throw fieldError('invalid_input', IDEMPOTENCY_HEADER, `expected 1 to ${MAX_KEY_CHARACTERS} characters`);
  }
  return `key-${hash('sha256', `${keyName} ${key}`).slice(0, 40)}`;
}

/** Rewords the error of a reused key. The status 422 is that of draft-ietf-httpapi-idempotency-key-header. */
export function explainReusedKey({ headers }: Request, error: unknown): unknown {
  const isReused = isTurnfoldError(error, 'turn_conflict') || isTurnfoldError(error, 'operation_conflict');
  if (!isReused || !headers.has(IDEMPOTENCY_HEADER)) return error;
  const why = 'this key was used before with another body. Use a new key';
  return new HttpProblem('key_reused', why, { field: IDEMPOTENCY_HEADER });
}

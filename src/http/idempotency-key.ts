import { hash } from 'node:crypto';
import { z } from 'zod';
import { fieldError } from '../domain/errors.ts';

export const IDEMPOTENCY_HEADER = 'idempotency-key';
const MAX_KEY_CHARACTERS = 255;

export const idempotencyKeySchema = z
  .string()
  .min(1)
  .max(MAX_KEY_CHARACTERS)
  .describe(
    'Key that makes the request repeatable. A repeated request with the same key and body has no second effect and gets the same answer.',
  );

/**
 * Derives the id of a write from the header `Idempotency-Key`. The write is stored under that id, so a repeated request
 * is recognized by every server, also after a restart.
 * @param given the id that the body names, if any
 * @returns undefined if the request names no id
 * @throws invalid_input for a wrong key, or for a key beside an id
 */
export function readOperation(request: Request, given: string | undefined, field = 'operation'): string | undefined {
  const key = request.headers.get(IDEMPOTENCY_HEADER);
  if (key === null) return given;
  if (given !== undefined) {
    throw fieldError('invalid_input', IDEMPOTENCY_HEADER, `send either this header or \`${field}\`, not both`);
  }
  if (key.length === 0 || key.length > MAX_KEY_CHARACTERS) {
    throw fieldError('invalid_input', IDEMPOTENCY_HEADER, `expected 1 to ${MAX_KEY_CHARACTERS} characters`);
  }
  return `key-${hash('sha256', key).slice(0, 40)}`;
}

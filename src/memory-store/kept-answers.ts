import { isOtherPayload } from '../domain/operation.ts';
import type { OtherPayload } from '../domain/ports/version-store.ts';

/** Finds the answer to an earlier call of an operation by its name, as `lua/shared/operations.lua` does in Redis. */
export function findAnswer<Answer extends object, Kept extends object>(
  answers: ReadonlyMap<string, Kept>,
  operation: string,
  describe: (kept: Kept) => Answer,
): Answer | OtherPayload | undefined {
  const kept = answers.get(operation);
  if (kept !== undefined) return describe(kept);
  const isOther = [...answers.keys()].some((known) => isOtherPayload(operation, known));
  return isOther ? { status: 'other_payload' } : undefined;
}

import { isTurnfoldError, type TurnfoldError } from '../../src/domain/errors.ts';

/** Returns the coded error that a call throws. Any other result fails the test. */
export function errorOf(call: () => unknown): TurnfoldError {
  try {
    call();
  } catch (error) {
    if (isTurnfoldError(error)) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

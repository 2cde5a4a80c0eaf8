import { isTurnfoldError, type TurnfoldError } from '../../src/domain/errors.ts';

/** Returns the TurnfoldError that a call throws. Any other outcome fails the test. */
export function errorOf(call: () => unknown): TurnfoldError {
  try {
    call();
  } catch (error) {
    if (isTurnfoldError(error)) return error;
    throw error;
  }
  throw new Error('the call threw nothing, but the test expects a TurnfoldError');
}

import { isTurnfoldError, type TurnfoldError } from '../../src/domain/errors.ts';

/** The coded error that a call throws; a call that throws none, or another, fails the test. */
export function errorOf(call: () => unknown): TurnfoldError {
  try {
    call();
  } catch (error) {
    if (isTurnfoldError(error)) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

import { describeLoss } from '../../domain/database-loss.ts';
import { isTurnfoldError, TurnfoldError } from '../../domain/errors.ts';
import type { DatabaseWatch } from '../../store/database-watch.ts';

/** ms between two checks. */
const CHECK_EVERY_MS = 5_000;

/**
 * Reports `database_lost` to the service if Redis holds another or an older database than before. If the client cannot use
 * that database, it reports `incompatible_store`. Each is reported once. An outage is left to the calls.
 * @returns a function that ends the checks
 */
export function reportLosses(database: DatabaseWatch, onError: (error: unknown) => void): () => void {
  let isIncompatible = false;
  const check = async (): Promise<void> => {
    try {
      const loss = await database.check();
      isIncompatible = false;
      if (loss !== undefined)
        onError(new TurnfoldError('database_lost', `${describeLoss(loss)}.`, { details: { ...loss } }));
    } catch (error) {
      if (isIncompatible || !isTurnfoldError(error, 'incompatible_store')) return;
      isIncompatible = true;
      onError(error);
    }
  };
  const timer = setInterval(() => void check(), CHECK_EVERY_MS).unref();
  return () => clearInterval(timer);
}

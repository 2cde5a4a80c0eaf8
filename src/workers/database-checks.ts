import { isTurnfoldError } from '../domain/errors.ts';
import type { EventListener } from '../domain/events.ts';
import type { DatabaseWatch } from '../store/database-watch.ts';
import type { Timers } from './timers.ts';

/** ms between two checks. Another database mostly comes with a new connection, which is checked at once. */
const CHECK_EVERY_MS = 15_000;

interface DatabaseChecksOptions {
  readonly watch: DatabaseWatch;
  readonly timers: Timers;
  readonly onEvent: EventListener;
  /** Called once if this program cannot use the database that is now in Redis. */
  readonly onIncompatible: () => void;
}

/** Checks every 15 s, and after each new connection, whether the database was lost or replaced. */
export class DatabaseChecks {
  readonly #options: DatabaseChecksOptions;
  #repetition: { stop(): void } | undefined;
  #isIncompatible = false;

  constructor(options: DatabaseChecksOptions) {
    this.#options = options;
  }

  start(): void {
    this.#repetition = this.#options.timers.every(CHECK_EVERY_MS, () => this.checkNow());
  }

  /** Never throws. */
  async checkNow(): Promise<void> {
    await this.#run(() => this.look());
  }

  stop(): void {
    this.#repetition?.stop();
  }

  /** Raises the counter of the database, twice a second in the process that sweeps. Never throws. */
  async tick(): Promise<void> {
    await this.#run(async () => this.#report(await this.#options.watch.tick()));
  }

  /** @throws incompatible_store, or the error of a Redis that does not answer */
  async look(): Promise<void> {
    this.#report(await this.#options.watch.check());
  }

  /** Checks the database, and reads the loss that was noted last. @throws as `look` */
  async readLoss(): ReturnType<DatabaseWatch['readLoss']> {
    await this.look();
    return await this.#options.watch.readLoss();
  }

  #report(loss: Awaited<ReturnType<DatabaseWatch['check']>>): void {
    if (loss !== undefined) this.#options.onEvent({ type: 'database_lost', ...loss });
  }

  async #run(check: () => Promise<void>): Promise<void> {
    try {
      await check();
    } catch (error) {
      const { onEvent, onIncompatible } = this.#options;
      const isIncompatible = isTurnfoldError(error, 'incompatible_store');
      if (isIncompatible && this.#isIncompatible) return;
      onEvent({ type: 'worker_failed', where: 'database', error });
      if (!isIncompatible) return;
      this.#isIncompatible = true;
      onIncompatible();
    }
  }
}

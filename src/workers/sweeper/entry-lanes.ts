import type { DueEntry } from '../../domain/ports/sweep-store.ts';
import type { Timers } from '../timers.ts';

/** Entries handled in parallel. */
const WIDTH = 16;
/** Time after which an entry counts as slow: many times the usual time of a read and a wake. */
const ENTRY_MS = 2_000;
/** The same time while other entries are slow. With 2 s each, 96 slow entries delayed the next one by 12 s. */
const HURRIED_MS = 50;
/** Limit of entries in flight. Each slow one holds memory and a waiting command. */
const MAX_IN_FLIGHT_ENTRIES = 2_000;

/**
 * Handles many entries in parallel lanes. A slow entry (the master of its queue may be gone) leaves its lane, goes on in the
 * background, and is not started again meanwhile. Entries that are not started because too many are slow come up in a later sweep.
 */
export class EntryLanes {
  readonly #handle: (entry: DueEntry) => Promise<boolean>;
  readonly #timers: Timers;
  readonly #inFlight = new Set<string>();

  /** @param handle returns true if it added a wake. Must not throw. */
  constructor(handle: (entry: DueEntry) => Promise<boolean>, timers: Timers) {
    this.#handle = handle;
    this.#timers = timers;
  }

  /** @returns the number of wakes added in time */
  async handleAll(entries: readonly DueEntry[]): Promise<number> {
    let woken = 0;
    const next = entries.filter((entry) => !this.#inFlight.has(nameOf(entry))).values();
    const work = async (): Promise<void> => {
      for (const entry of next) {
        if (this.#inFlight.size >= MAX_IN_FLIGHT_ENTRIES) return;
        if (await this.#handleInTime(entry)) woken += 1;
      }
    };
    await Promise.all(Array.from({ length: WIDTH }, work));
    return woken;
  }

  async #handleInTime(entry: DueEntry): Promise<boolean> {
    const name = nameOf(entry);
    this.#inFlight.add(name);
    const handled = this.#handle(entry).finally(() => this.#inFlight.delete(name));
    const { promise: late, resolve } = Promise.withResolvers<false>();
    // More entries in flight than lanes: some entries are slow.
    const ms = this.#inFlight.size > WIDTH ? HURRIED_MS : ENTRY_MS;
    const timer = this.#timers.after(ms, () => resolve(false));
    const hasWoken = await Promise.race([handled, late]);
    timer.stop();
    return hasWoken;
  }
}

function nameOf({ kind, conversation, turn = '' }: DueEntry): string {
  return `${kind}|${conversation.tenant}|${conversation.id}|${turn}`;
}

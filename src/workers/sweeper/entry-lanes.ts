import type { DueEntry } from '../../store/due-work.ts';
import type { Timers } from '../timers.ts';

/** Number of entries of due work (turns or passes to wake) that are handled at the same time. */
const WIDTH = 16;
/**
 * ms after which an entry of due work counts as slow. Reading the entry and adding its wake job usually take a small
 * fraction of this time.
 */
const ENTRY_MS = 2_000;
/**
 * Value of `ENTRY_MS` while other entries are slow. With 2 s for each, 96 slow entries delayed the next entry by 12 s.
 */
const HURRIED_MS = 50;
/**
 * ms after which a slow entry is started again. Its command may never be answered. A second wake does no harm, but without
 * one the work would wait for ever.
 */
const GIVEN_UP_MS = 30_000;
/** Maximum number of entries of due work in progress. Each slow entry uses memory and has a waiting Redis command. */
const MAX_IN_FLIGHT_ENTRIES = 2_000;

/**
 * Handles many entries of due work in parallel lanes. An entry is slow if, for instance, the Redis master of its queue
 * is down. A slow entry leaves its lane and continues in the background. It is not started a second time within half a
 * minute. If too many entries are slow, the remaining entries are handled by a later sweep.
 */
export class EntryLanes {
  readonly #handle: (entry: DueEntry) => Promise<boolean>;
  readonly #timers: Timers;
  readonly #inFlight = new Set<string>();

  /** @param handle handles one entry of due work. Returns true if a wake job was added. Must not throw. */
  constructor(handle: (entry: DueEntry) => Promise<boolean>, timers: Timers) {
    this.#handle = handle;
    this.#timers = timers;
  }

  /** @returns the number of wake jobs that were added before their entry counted as slow */
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
    let givingUp: { stop(): void } | undefined;
    const handled = this.#handle(entry).finally(() => {
      givingUp?.stop();
      this.#inFlight.delete(name);
    });
    const { promise: late, resolve } = Promise.withResolvers<false>();
    // If more entries are in flight than there are lanes, some entries are slow.
    const ms = this.#inFlight.size > WIDTH ? HURRIED_MS : ENTRY_MS;
    const timer = this.#timers.after(ms, () => {
      givingUp = this.#timers.after(GIVEN_UP_MS, () => this.#inFlight.delete(name));
      resolve(false);
    });
    const hasWoken = await Promise.race([handled, late]);
    timer.stop();
    return hasWoken;
  }
}

function nameOf({ kind, conversation, turn = '' }: DueEntry): string {
  return `${kind}|${conversation.tenant}|${conversation.id}|${turn}`;
}

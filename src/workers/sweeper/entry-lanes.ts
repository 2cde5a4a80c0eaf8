import type { DueEntry } from '../../store/due-work.ts';
import type { Timers } from '../timers.ts';

const WIDTH = 16;
/** ms after which an entry of due work counts as slow. Most entries take a small fraction of this time. */
const ENTRY_MS = 2_000;
/** `ENTRY_MS` while many entries are slow. With 2 s for each, 96 slow entries delayed the next one by 12 s. */
const HURRIED_MS = 50;
/**
 * ms after which a slow entry may be started again. Its command may never be answered, and a second wake is harmless.
 */
const GIVEN_UP_MS = 30_000;
/** Limit for slow entries, because each uses memory and has a waiting command. */
const MAX_IN_FLIGHT_ENTRIES = 2_000;

/**
 * Handles due work in parallel lanes. A slow entry, whose queue's master may be down, leaves its lane and continues in
 * the background. It is not started again within half a minute. If too many are slow, a later sweep handles the rest.
 */
export class EntryLanes {
  readonly #handle: (entry: DueEntry) => Promise<boolean>;
  readonly #timers: Timers;
  readonly #inFlight = new Set<string>();

  /** @param handle returns true if a wake job was added. Must not throw. */
  constructor(handle: (entry: DueEntry) => Promise<boolean>, timers: Timers) {
    this.#handle = handle;
    this.#timers = timers;
  }

  /** @returns number of wakes that were added before their entry counted as slow */
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

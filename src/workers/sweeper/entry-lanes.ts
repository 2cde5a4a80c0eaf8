import type { DueEntry } from '../../domain/ports/sweep-store.ts';
import type { Timers } from '../timers.ts';

/** Entries side by side, of those that do not hang. */
const WIDTH = 16;
/** What a look, a wake and their answers take, many times over. */
const ENTRY_MS = 2_000;
/** Where others hang already. With two seconds each, 96 of them kept the next one waiting for twelve. */
const HURRIED_MS = 50;
/** Each that hangs holds memory, and a command that waits. */
const MOST_IN_HAND = 2_000;

/**
 * Handles many entries. One that takes long, as where the master is gone on which its queue lies, is left to itself, and not begun
 * again meanwhile. As many as there are lanes keep the others waiting for two seconds once, the rest of them for little. What is
 * not begun because too many hang comes up again by its push.
 */
export class EntryLanes {
  readonly #handle: (entry: DueEntry) => Promise<boolean>;
  readonly #timers: Timers;
  readonly #inHand = new Set<string>();

  /** @param handle answers whether it woke somebody, and throws nothing */
  constructor(handle: (entry: DueEntry) => Promise<boolean>, timers: Timers) {
    this.#handle = handle;
    this.#timers = timers;
  }

  /** Answers how many were woken. */
  async handleAll(entries: readonly DueEntry[]): Promise<number> {
    let woken = 0;
    const next = entries.filter((entry) => !this.#inHand.has(nameOf(entry))).values();
    const work = async (): Promise<void> => {
      for (const entry of next) {
        if (this.#inHand.size >= MOST_IN_HAND) return;
        if (await this.#handleInTime(entry)) woken += 1;
      }
    };
    await Promise.all(Array.from({ length: WIDTH }, work));
    return woken;
  }

  async #handleInTime(entry: DueEntry): Promise<boolean> {
    const name = nameOf(entry);
    this.#inHand.add(name);
    const handled = this.#handle(entry).finally(() => this.#inHand.delete(name));
    const { promise: late, resolve } = Promise.withResolvers<false>();
    // More than there are lanes: some of them hang.
    const ms = this.#inHand.size > WIDTH ? HURRIED_MS : ENTRY_MS;
    const timer = this.#timers.after(ms, () => resolve(false));
    const hasWoken = await Promise.race([handled, late]);
    timer.stop();
    return hasWoken;
  }
}

function nameOf({ kind, conversation, turn = '' }: DueEntry): string {
  return `${kind}|${conversation.tenant}|${conversation.id}|${turn}`;
}

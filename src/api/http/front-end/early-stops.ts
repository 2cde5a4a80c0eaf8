import { setTimeout as delay } from 'node:timers/promises';

/** How long a stop looks for its request, which another server may accept at the same time. */
const ARRIVAL_MS = 500;
const READ_MS = 50;
/** How long this server remembers a stop whose request has not come. */
const KEPT_MS = 60_000;
const MAX_STOPS = 10_000;

/** Tenant, conversation and turn. */
type TurnName = readonly [tenant: string, conversation: string, turn: string];

/**
 * Stops that overtake the requests that they are for. A stop is noted before it looks for its turn, and a request looks
 * for a note after its turn was accepted. So one of the two finds the other, however long each takes.
 */
export class EarlyStops {
  /** Times until which notes are kept, by turn. Oldest first. */
  readonly #notes = new Map<string, number>();

  /**
   * Looks for the turn of a stop. If the turn is unknown, the note stays, and a request that brings the turn within a
   * minute ends at once.
   * @param names all names that the turn may have
   */
  async find<Found>(
    names: readonly TurnName[],
    read: () => Promise<Found | undefined>,
    left: AbortSignal,
  ): Promise<Found | undefined> {
    const keys = names.map(writeKey);
    for (const key of keys) this.#note(key);
    const until = performance.now() + ARRIVAL_MS;
    for (;;) {
      const found = await read();
      if (found !== undefined) for (const key of keys) this.#notes.delete(key);
      if (found !== undefined || left.aborted || performance.now() >= until) return found;
      await delay(READ_MS, undefined, { signal: left }).catch(() => undefined);
    }
  }

  /** True if a stop came before the turn. The note counts once. */
  take(name: TurnName): boolean {
    const key = writeKey(name);
    const until = this.#notes.get(key);
    this.#notes.delete(key);
    return until !== undefined && until > performance.now();
  }

  #note(key: string): void {
    const now = performance.now();
    for (const [oldest, until] of this.#notes) {
      if (until > now && this.#notes.size < MAX_STOPS) break;
      this.#notes.delete(oldest);
    }
    this.#notes.delete(key);
    this.#notes.set(key, now + KEPT_MS);
  }
}

function writeKey(name: TurnName): string {
  return JSON.stringify(name);
}

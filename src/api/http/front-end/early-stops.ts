import { setTimeout as delay } from 'node:timers/promises';
import { isTurnfoldError } from '../../../domain/errors.ts';

/** How long a stop looks for its request, which another server may accept at the same time. */
const ARRIVAL_MS = 500;
const READ_MS = 50;
/** How long this server remembers a stop whose request has not come. */
const KEPT_MS = 60_000;
const MAX_STOPS = 10_000;
/** Stops of different callers that are kept for one turn. */
const MAX_CALLERS = 10;

/** Tenant, conversation and turn. */
type TurnName = readonly [tenant: string, conversation: string, turn: string];

interface Stopping {
  /** Throws `access_denied` if the caller of the stop may not use the conversation as it is now. */
  readonly checkAccess: () => Promise<void>;
  /** Aborts when the caller of the stop leaves. */
  readonly left: AbortSignal;
}

interface Note {
  /** Time until which the note is kept. */
  readonly until: number;
  readonly checkAccess: Stopping['checkAccess'];
}

/**
 * Stops that overtake the requests that they are for. A stop is noted before it looks for its turn, and a request looks
 * for a note after its turn was accepted. So one of the two finds the other, however long each takes.
 */
export class EarlyStops {
  /** Notes by turn. Oldest first. */
  readonly #notes = new Map<string, readonly Note[]>();

  /**
   * Looks for the turn of a stop. If the turn is unknown, the note stays, and a request that brings the turn within a
   * minute ends at once. A stop that fails leaves no note.
   * @param names all names that the turn may have
   * @throws access_denied
   */
  async find<Found>(
    names: readonly TurnName[],
    read: () => Promise<Found | undefined>,
    { checkAccess, left }: Stopping,
  ): Promise<Found | undefined> {
    await checkAccess();
    const keys = names.map(writeKey);
    const note = { until: performance.now() + KEPT_MS, checkAccess };
    for (const key of keys) this.#add(key, note);
    const until = performance.now() + ARRIVAL_MS;
    for (;;) {
      const found = await read().catch((error: unknown) => {
        for (const key of keys) this.#remove(key, note);
        throw error;
      });
      if (found !== undefined) for (const key of keys) this.#remove(key, note);
      if (found !== undefined || left.aborted || performance.now() >= until) return found;
      await delay(READ_MS, undefined, { signal: left }).catch(() => undefined);
    }
  }

  /**
   * True if a stop came before the turn. The note counts once. The turn may have created the conversation for another
   * owner, so the caller of the stop is checked again.
   */
  async take(name: TurnName): Promise<boolean> {
    const key = writeKey(name);
    for (const note of this.#notes.get(key) ?? []) {
      const counts = note.until > performance.now() && (await mayStop(note));
      this.#remove(key, note);
      if (counts) return true;
    }
    return false;
  }

  #add(key: string, note: Note): void {
    const now = performance.now();
    for (const [oldest, notes] of this.#notes) {
      if (notes.some(({ until }) => until > now) && this.#notes.size < MAX_STOPS) break;
      this.#notes.delete(oldest);
    }
    const others = this.#notes.get(key) ?? [];
    this.#notes.delete(key);
    this.#notes.set(key, [...others.slice(1 - MAX_CALLERS), note]);
  }

  #remove(key: string, note: Note): void {
    const others = (this.#notes.get(key) ?? []).filter((one) => one !== note);
    if (others.length === 0) this.#notes.delete(key);
    else this.#notes.set(key, others);
  }
}

async function mayStop({ checkAccess }: Note): Promise<boolean> {
  try {
    await checkAccess();
    return true;
  } catch (error) {
    if (isTurnfoldError(error, 'access_denied')) return false;
    throw error;
  }
}

function writeKey(name: TurnName): string {
  return JSON.stringify(name);
}

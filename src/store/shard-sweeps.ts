import { isTurnfoldError } from '../domain/errors.ts';
import type { DueEntry, QuarantineEntry, Sweep } from '../domain/ports/sweep-store.ts';
import { inTime } from '../redis/servers.ts';

export interface ShardSweep {
  readonly due: readonly DueEntry[];
  readonly setAside: readonly QuarantineEntry[];
}

export interface ShardSweepPorts {
  /** Returns true if an entry of due work may be due at the time `now`. */
  isDue(shard: number, now: number): Promise<boolean>;
  sweep(shard: number, limit: number): Promise<ShardSweep>;
  /** Runs only the part of a sweep that a full Redis allows: idle conversations are expired. */
  makeRoom(shard: number): Promise<ShardSweep>;
}

const NOTHING: ShardSweep = { due: [], setAside: [] };
/** Number of other shards that each sweep of due shards also sweeps, in rotation. One rotation takes about a minute. */
const IN_TURN = 4;

/** Milliseconds after which a shard without an answer counts as silent. */
const SILENT_MS = 1_000;

/**
 * Sweeps all shards in parallel. In a Cluster, the shards of a lost master are silent for half a minute and then fail.
 * Waiting for them would delay the entries of other shards, which their scripts have already rescheduled. So each sweep
 * returns the replies so far. A silent shard is skipped until it replies or fails, and the next sweep returns its
 * reply.
 */
export class ShardSweeps {
  readonly #ports: ShardSweepPorts;
  readonly #silentMs: number;
  readonly #pending = new Set<number>();
  #next = 0;
  #due: DueEntry[] = [];
  #setAside: QuarantineEntry[] = [];
  #failure: Error | undefined;
  #fullness: Error | undefined;

  constructor(ports: ShardSweepPorts, silentMs = SILENT_MS) {
    this.#ports = ports;
    this.#silentMs = silentMs;
  }

  async sweep(shards: readonly number[], limit: number): Promise<Sweep> {
    return await this.#collect(shards, (shard) => this.#sweepOrMakeRoom(shard, limit));
  }

  /** Sweeps the shards with due work, and some of the others. */
  async sweepDue(shards: readonly number[], now: number, limit: number): Promise<Sweep> {
    const inTurn = new Set(Array.from({ length: IN_TURN }, (_, index) => shards[(this.#next + index) % shards.length]));
    this.#next = (this.#next + IN_TURN) % shards.length;
    return await this.#collect(shards, async (shard) => {
      const isWanted = inTurn.has(shard) || (await this.#ports.isDue(shard, now));
      return isWanted ? await this.#sweepOrMakeRoom(shard, limit) : NOTHING;
    });
  }

  async #collect(shards: readonly number[], sweep: (shard: number) => Promise<ShardSweep>): Promise<Sweep> {
    const free = shards.filter((shard) => !this.#pending.has(shard));
    await inTime(Promise.all(free.map((shard) => this.#sweepShard(shard, sweep))), this.#silentMs, undefined);
    const [due, setAside] = [this.#due, this.#setAside];
    // A full Redis is no failure of the sweep while there are idle conversations to erase.
    const failure = this.#failure ?? (due.length === 0 ? this.#fullness : undefined);
    [this.#due, this.#setAside, this.#failure, this.#fullness] = [[], [], undefined, undefined];
    return { due, quarantined: setAside, ...(failure !== undefined && { failure }) };
  }

  async #sweepShard(shard: number, sweep: (shard: number) => Promise<ShardSweep>): Promise<void> {
    this.#pending.add(shard);
    try {
      const { due, setAside } = await sweep(shard);
      // `this.#due.push(...(await …))` would read `this.#due` before the await, and so add to a list that was already
      // returned.
      this.#due.push(...due);
      this.#setAside.push(...setAside);
    } catch (error) {
      this.#failure = error as Error;
    } finally {
      this.#pending.delete(shard);
    }
  }

  async #sweepOrMakeRoom(shard: number, limit: number): Promise<ShardSweep> {
    try {
      return await this.#ports.sweep(shard, limit);
    } catch (error) {
      if (!isTurnfoldError(error, 'redis_full')) throw error;
      this.#fullness = error;
      return await this.#ports.makeRoom(shard);
    }
  }
}

import { isTurnfoldError } from '../domain/errors.ts';
import type { DueEntry, QuarantineEntry, Sweep } from '../domain/ports/sweep-store.ts';
import { inTime } from '../redis/servers.ts';

export interface ShardSweep {
  readonly due: readonly DueEntry[];
  readonly setAside: readonly QuarantineEntry[];
}

export interface ShardSweepPorts {
  sweep(shard: number, limit: number): Promise<ShardSweep>;
  /** Runs only the part of a sweep that a full Redis allows: idle conversations are expired. */
  makeRoom(shard: number): Promise<ShardSweep>;
}

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
  #due: DueEntry[] = [];
  #setAside: QuarantineEntry[] = [];
  #failure: Error | undefined;
  #fullness: Error | undefined;

  constructor(ports: ShardSweepPorts, silentMs = SILENT_MS) {
    this.#ports = ports;
    this.#silentMs = silentMs;
  }

  async sweep(shards: readonly number[], limit: number): Promise<Sweep> {
    const free = shards.filter((shard) => !this.#pending.has(shard));
    await inTime(Promise.all(free.map((shard) => this.#sweepShard(shard, limit))), this.#silentMs, undefined);
    const [due, setAside] = [this.#due, this.#setAside];
    // A full Redis is no failure of the sweep while there are idle conversations to erase.
    const failure = this.#failure ?? (due.length === 0 ? this.#fullness : undefined);
    [this.#due, this.#setAside, this.#failure, this.#fullness] = [[], [], undefined, undefined];
    return { due, quarantined: setAside, ...(failure !== undefined && { failure }) };
  }

  async #sweepShard(shard: number, limit: number): Promise<void> {
    this.#pending.add(shard);
    try {
      const { due, setAside } = await this.#sweepOrMakeRoom(shard, limit);
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

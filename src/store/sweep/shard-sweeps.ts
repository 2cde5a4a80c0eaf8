import { isTurnfoldError } from '../../domain/errors.ts';
import type { DueEntry, QuarantinedRecord, Sweep } from '../../domain/ports/sweep-store.ts';
import { inTime } from '../deadline.ts';

export interface ShardSweep {
  readonly due: readonly DueEntry[];
  readonly setAside: readonly QuarantinedRecord[];
}

export interface ShardSweepPorts {
  sweep(shard: number, limit: number): Promise<ShardSweep>;
  /** what can be done where Redis is full */
  makeRoom(shard: number): Promise<ShardSweep>;
}

/** A shard without an answer by then is silent. */
const SILENT_MS = 1_000;

/**
 * Shards side by side. In a Cluster a master that is gone keeps those that lie on it silent, for half a minute, and then they
 * fail: whoever waited for all of them would let the others' entries stand, though their scripts have pushed these out. So
 * each look takes what there is; a silent shard is left out of the looks until it has answered or failed, which the next look
 * brings.
 */
export class ShardSweeps {
  readonly #ports: ShardSweepPorts;
  readonly #silentMs: number;
  readonly #asked = new Set<number>();
  #due: DueEntry[] = [];
  #setAside: QuarantinedRecord[] = [];
  #failure: Error | undefined;
  #fullness: Error | undefined;

  constructor(ports: ShardSweepPorts, silentMs = SILENT_MS) {
    this.#ports = ports;
    this.#silentMs = silentMs;
  }

  async sweep(shards: readonly number[], limit: number): Promise<Sweep> {
    const free = shards.filter((shard) => !this.#asked.has(shard));
    await inTime(Promise.all(free.map((shard) => this.#ask(shard, limit))), this.#silentMs, undefined);
    const [due, setAside] = [this.#due, this.#setAside];
    // While it makes room a full Redis is no news.
    const failure = this.#failure ?? (due.length === 0 ? this.#fullness : undefined);
    [this.#due, this.#setAside, this.#failure, this.#fullness] = [[], [], undefined, undefined];
    return { due, quarantined: setAside, ...(failure !== undefined && { failure }) };
  }

  async #ask(shard: number, limit: number): Promise<void> {
    this.#asked.add(shard);
    try {
      const { due, setAside } = await this.#sweepOrMakeRoom(shard, limit);
      // Not `this.#due.push(...(await …))`: that reads `this.#due` first, and would add to what a look has taken meanwhile.
      this.#due.push(...due);
      this.#setAside.push(...setAside);
    } catch (error) {
      this.#failure = error as Error;
    } finally {
      this.#asked.delete(shard);
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

/**
 * Sweeps all shards in parallel, with one script per shard. In a Cluster, the shards of a lost master are silent for
 * half a minute and then fail. A sweep that waited for them would delay the entries of all others, which their scripts
 * have already rescheduled. So each sweep returns the replies of one second. A silent shard is skipped until it
 * replies or fails, and a later sweep returns its reply.
 *
 * A new script after each timeout would be simpler. But a silent shard would run all of these scripts late, with
 * outdated arguments.
 *
 * `sweepDue` asks first if a shard has anything due. In a quiet database that costs one or two commands for all shards
 * (`existing-keys.ts`). `sweep` looks at every given shard. `lapse` ends the leases of a dead worker.
 */

import { isTurnfoldError } from '../domain/errors.ts';
import type { QuarantineEntry } from '../domain/quarantine.ts';
import type { DueEntry } from './due-work.ts';
import { outageBecause } from './redis/errors.ts';
import { inTime } from './redis/servers.ts';

export interface ShardSweep {
  readonly due: readonly DueEntry[];
  readonly setAside: readonly QuarantineEntry[];
}

export interface ShardSweepPorts {
  isDue(shard: number, now: number, list: 'ready' | 'idle'): Promise<boolean>;
  sweep(shard: number, limit: number): Promise<ShardSweep>;
  /** The part of a sweep that a full Redis allows: idle conversations are expired. */
  makeRoom(shard: number): Promise<ShardSweep>;
  lapse(shard: number, worker: string): Promise<ShardSweep>;
}

const NOTHING: ShardSweep = { due: [], setAside: [] };
/** Each sweep looks for idle conversations in one shard out of this many. No caller waits for an erase. */
const IDLE_ROUNDS = 4;
/** Each sweep also visits one shard out of this many without due work, for the lists that only a sweep cleans up. */
const CLEAN_ROUNDS = 64;

const SILENT_MS = 1_000;

export interface Sweep {
  readonly quarantined: readonly QuarantineEntry[];
  /** Due entries, including late answers of shards to an earlier sweep. */
  readonly due: readonly DueEntry[];
  readonly failure?: Error;
}

export class ShardSweeps {
  readonly #ports: ShardSweepPorts;
  readonly #silentMs: number;
  readonly #pending = new Set<number>();
  /** Pairs of shard and worker whose `lapse` has no reply yet. A second script would run late. */
  readonly #lapsing = new Set<string>();
  #round = 0;
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

  async sweepDue(shards: readonly number[], now: number, limit: number): Promise<Sweep> {
    this.#round += 1;
    const round = this.#round;
    const isTurn = (shard: number, rounds: number): boolean => (shard + round) % rounds === 0;
    return await this.#collect(shards, async (shard) => {
      const isWanted =
        isTurn(shard, CLEAN_ROUNDS) ||
        (await this.#ports.isDue(shard, now, 'ready')) ||
        (isTurn(shard, IDLE_ROUNDS) && (await this.#ports.isDue(shard, now, 'idle')));
      return isWanted ? await this.#sweepOrMakeRoom(shard, limit) : NOTHING;
    });
  }

  /** A shard that does not answer in time counts as failed. */
  async lapse(shards: readonly number[], worker: string): Promise<Sweep> {
    const silence = outageBecause('a shard did not answer');
    const replies = await Promise.all(
      shards.map(async (shard) => {
        if (this.#lapsing.has(`${shard} ${worker}`)) return silence;
        return await inTime(this.#lapseShard(shard, worker), this.#silentMs, silence).catch(toError);
      }),
    );
    const failure = replies.find((reply) => reply instanceof Error);
    const due = replies.flatMap((reply) => (reply instanceof Error ? [] : reply.due));
    return { due, quarantined: [], ...(failure !== undefined && { failure }) };
  }

  async #lapseShard(shard: number, worker: string): Promise<ShardSweep> {
    const name = `${shard} ${worker}`;
    this.#lapsing.add(name);
    try {
      return await this.#ports.lapse(shard, worker);
    } finally {
      this.#lapsing.delete(name);
    }
  }

  async #collect(shards: readonly number[], sweep: (shard: number) => Promise<ShardSweep>): Promise<Sweep> {
    const free = shards.filter((shard) => !this.#pending.has(shard));
    await inTime(Promise.all(free.map((shard) => this.#sweepShard(shard, sweep))), this.#silentMs, undefined);
    const [due, setAside] = [this.#due, this.#setAside];
    // A full Redis is not reported while idle conversations can be erased, because the erase frees memory.
    const failure = this.#failure ?? (due.length === 0 ? this.#fullness : undefined);
    [this.#due, this.#setAside, this.#failure, this.#fullness] = [[], [], undefined, undefined];
    return { due, quarantined: setAside, ...(failure !== undefined && { failure }) };
  }

  async #sweepShard(shard: number, sweep: (shard: number) => Promise<ShardSweep>): Promise<void> {
    this.#pending.add(shard);
    try {
      const { due, setAside } = await sweep(shard);
      // `this.#due.push(...(await …))` would read `this.#due` before the await, and so push to a list that was already
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

function toError(error: unknown): Error {
  return error as Error;
}

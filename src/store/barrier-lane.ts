import type { Redis } from 'ioredis';
import type { Barriers, Durability, Shortfall } from '../domain/durability.ts';

export interface GuardedCall {
  readonly script: { readonly sha: string; readonly lua: string };
  /** Arguments after the script's hash. */
  readonly args: readonly (string | number)[];
  /** Key in the script's slot, written before the wait. */
  readonly mark: string;
}

export interface GuardedReply {
  readonly reply: unknown;
  readonly shortfall?: Shortfall;
}

interface Waiting extends GuardedCall {
  readonly resolve: (reply: GuardedReply) => void;
  readonly reject: (error: Error) => void;
  /** Count of refusals before the script ran: the server did not know the script, or the slot had moved. */
  tries: number;
}

type Result = readonly [error: Error | null, reply: unknown];

/** Tries of one call: with the hash, with the text, and with the hash again after the slot moved. */
const MAX_TRIES = 4;
/** A SET that a full Redis accepts too, because an erase, which frees memory, waits behind it. */
const MARK = "#!lua flags=allow-oom\nredis.call('SET', KEYS[1], '')";
/** Limit of the calls that share a WAIT, and so of a pipeline. */
const MAX_BATCH = 200;

/**
 * One connection that alternates writes and the wait for them. Calls that arrive during a wait go out together and share the
 * next wait, like commits that share one fsync.
 *
 * WAIT covers the writes of its own connection. Three rules follow:
 * - B1. Writes, a mark and WAIT go out as one pipeline on one connection. No command of it is sent again alone.
 * - B2. The mark is always a write. A known turn was written on another connection, and since Redis 7.2 WAIT ignores that
 *   write. The mark is later in the same replication stream, so the mark covers that turn too.
 * - B3. A demoted master refuses the mark, and then the wait does not count.
 */
export class BarrierLane {
  readonly #redis: Redis;
  readonly #durability: Durability;
  #waiting: Waiting[] = [];
  #isRunning = false;
  #sent = 0;

  constructor(redis: Redis, durability: Durability) {
    this.#redis = redis;
    this.#durability = durability;
  }

  /** Calls in flight. A lane that cannot send is chosen last. */
  get load(): number {
    return this.#redis.status === 'ready' ? this.#sent + this.#waiting.length : Number.MAX_SAFE_INTEGER;
  }

  /** Rejects with the error of Redis or of the network. The script may have run. */
  run(call: GuardedCall): Promise<GuardedReply> {
    const { promise, resolve, reject } = Promise.withResolvers<GuardedReply>();
    this.#waiting.push({ ...call, resolve, reject, tries: 0 });
    if (!this.#isRunning) void this.#drain();
    return promise;
  }

  async #drain(): Promise<void> {
    this.#isRunning = true;
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, MAX_BATCH);
      this.#waiting = this.#waiting.slice(MAX_BATCH);
      this.#sent = batch.length;
      await Promise.all(this.#bySlot(batch).map((calls) => this.#send(calls)));
      this.#sent = 0;
    }
    this.#isRunning = false;
  }

  /** In a Cluster, a pipeline goes to one node. */
  #bySlot(batch: readonly Waiting[]): Waiting[][] {
    return this.#redis.isCluster ? [...Map.groupBy(batch, ({ mark }) => mark).values()] : [[...batch]];
  }

  async #send(calls: readonly Waiting[]): Promise<void> {
    const pipeline = this.#redis.pipeline();
    for (const { script, args, tries } of calls) {
      if (tries % 2 === 0) pipeline.call('evalsha', [script.sha, ...args]);
      else pipeline.call('eval', [script.lua, ...args]);
    }
    pipeline.call('eval', [MARK, 1, calls[0]?.mark ?? '']);
    for (const [command, ...args] of this.#waits()) pipeline.call(command, args);
    let results: readonly Result[];
    try {
      results = (await pipeline.exec()) ?? [];
    } catch (error) {
      for (const { reject } of calls) reject(error as Error);
      return;
    }
    const shortfall = this.#judge(results.slice(calls.length));
    for (const [index, call] of calls.entries()) this.#conclude(call, results[index], shortfall);
  }

  #conclude(
    call: Waiting,
    [error, reply]: Result = [new Error('Connection is closed.'), undefined],
    shortfall?: Shortfall,
  ): void {
    if (error === null) {
      call.resolve({ reply, ...(shortfall !== undefined && { shortfall }) });
      return;
    }
    const hasNotRun = error.message.startsWith('NOSCRIPT') || error.message.startsWith('MOVED');
    call.tries += error.message.startsWith('MOVED') ? 2 : 1;
    if (!hasNotRun || call.tries >= MAX_TRIES) {
      call.reject(error);
      return;
    }
    if (error.message.startsWith('MOVED')) {
      // A read finds the new place of the slot, and the connection remembers it. A pipeline with a WAIT does not.
      this.#redis.exists(call.mark).then(() => this.#again(call), call.reject);
    } else this.#again(call);
  }

  #again(call: Waiting): void {
    this.#waiting.push(call);
    if (!this.#isRunning) void this.#drain();
  }

  #waits(): [command: 'wait' | 'waitaof', ...args: number[]][] {
    const { replicas, timeoutMs, fsync } = this.#durability;
    if (fsync === 'replica') return [['waitaof', 1, replicas, timeoutMs]];
    const disk = fsync === 'local' ? [['waitaof', 1, 0, timeoutMs] as ['waitaof', ...number[]]] : [];
    return [['wait', replicas, timeoutMs], ...disk];
  }

  /** @param results reply of the mark, then of each wait */
  #judge(results: readonly Result[]): Shortfall | undefined {
    const { replicas, fsync } = this.#durability;
    const wanted: Barriers = { replicas, ...(fsync !== undefined && { fsynced: 1 }) };
    if (results.some(([error]) => error !== null)) return { wanted };
    const replies = results.slice(1).map(([, reply]) => reply);
    const reached = readReached(replies);
    const isReached = reached.replicas >= replicas && (reached.fsynced ?? 0) >= (wanted.fsynced ?? 0);
    return isReached ? undefined : { wanted, reached };
  }
}

/** WAIT replies with replicas. WAITAOF replies with the own disk (0 or 1) and the replicas whose disks have the write. */
function readReached(replies: readonly unknown[]): Barriers {
  const [first, second] = replies as [number | [number, number], [number, number]?];
  if (Array.isArray(first)) return { replicas: first[1], fsynced: first[0] };
  return { replicas: first, ...(second !== undefined && { fsynced: second[0] }) };
}

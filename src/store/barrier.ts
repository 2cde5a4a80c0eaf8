/**
 * The durability barrier: a client's write counts as done once replicas or disks have it, as `durability` asks. Workers
 * need no barrier, because after a failover they recompute their writes from the accepted input.
 * Redis confirms writes by WAIT, which covers only the writes of its own connection and blocks it. So the barrier has
 * four connections of its own. Each sends the calls that have arrived as one pipeline, and waits once for all of them.
 * Calls that arrive meanwhile share the next wait, as the commits of a database share one fsync.
 * Three rules make a confirmation true. `barrier-rules.test.ts` breaks each of them:
 * - B1. The writes, a write of the mark (an empty key), and WAIT are one pipeline on one connection. No command of it
 * is sent again alone.
 * - B2. The mark is always a write. If another connection wrote the turn already, WAIT ignores that write since Redis
 * 7.2. The mark follows it in the replication stream, so a replica that has the mark has the turn.
 * - B3. A master that was demoted to a replica refuses the mark, and then the result of WAIT does not count.
 */

import type { Redis } from 'ioredis';
import type { Acknowledged, Barriers, Durability, Shortfall } from '../domain/durability.ts';
import { TurnfoldError } from '../domain/errors.ts';
import type { Keyspace } from './keys.ts';
import { callStoreOnce } from './records.ts';
import { connect, duplicateConnection } from './redis/connection.ts';
import { type Argument, conversationOf, Script, type ScriptDefinition } from './script.ts';

const LANES = 4;
/** ms that a call waits for Redis, in addition to the wait for replicas. */
const ANSWER_MS = 900;

export class Barrier {
  readonly #lanes: readonly BarrierLane[];
  readonly #connections: readonly Redis[];

  private constructor(connections: readonly Redis[], durability: Durability) {
    this.#connections = connections;
    this.#lanes = connections.map((connection) => new BarrierLane(connection, durability));
  }

  /** @throws redis_unavailable if Redis does not answer, invalid_config if the server cannot wait for its disk */
  static async open(redis: Redis, durability: Durability): Promise<Barrier> {
    const timeoutMs = durability.timeoutMs * (durability.fsync === 'local' ? 2 : 1);
    const connections = Array.from({ length: LANES }, () =>
      duplicateConnection(redis, {
        lazyConnect: true,
        enableOfflineQueue: false,
        // Rule B1: ioredis must not send a command again on a new connection. WAIT would succeed there at once, because
        // the connection has no writes.
        autoResendUnfulfilledCommands: false,
        // Reconnects after a refused write (READONLY). That write fails, and the next call finds the new master.
        reconnectOnError: (error) => error.message.startsWith('READONLY'),
        maxRetriesPerRequest: 0,
        commandTimeout: timeoutMs + ANSWER_MS,
      }),
    );
    // The main connection reports outages. Without a listener, ioredis prints each error.
    for (const connection of connections) connection.on('error', () => undefined);
    const barrier = new Barrier(connections, durability);
    try {
      await Promise.all(connections.map((connection) => connect(connection)));
      if (durability.fsync !== undefined) await checkKnowsDisks(connections[0] as Redis);
      return barrier;
    } catch (error) {
      barrier.close();
      throw error;
    }
  }

  /** @param isDone true if a reply says that the write is done. After other replies, the barrier does not wait */
  bind<Input extends readonly unknown[], Reply extends object>(
    definition: ScriptDefinition<Input, Reply>,
    keyspace: Keyspace,
    isDone: (reply: Reply) => boolean,
  ): (...input: Input) => Promise<Acknowledged<Reply>> {
    const script = new Script(definition, keyspace);
    return async (...input) => {
      const { reply, shortfall } = await callStoreOnce(() =>
        this.#pickLane().run({ script, args: script.encode(input), mark: keyspace.barrier(conversationOf(input)) }),
      );
      const decoded = script.decode(reply, input);
      return shortfall === undefined || !isDone(decoded) ? decoded : { ...decoded, shortfall };
    };
  }

  close(): void {
    for (const connection of this.#connections) connection.disconnect();
  }

  #pickLane(): BarrierLane {
    return this.#lanes.reduce((best, lane) => (lane.load < best.load ? lane : best));
  }
}

async function checkKnowsDisks(redis: Redis): Promise<void> {
  try {
    await callStoreOnce(() => redis.call('waitaof', [1, 0, 1]));
  } catch (cause) {
    const remedy = REMEDIES.find(([error]) => cause instanceof Error && error.test(cause.message))?.[1];
    if (remedy === undefined) throw cause;
    const field = 'durability.fsync';
    throw new TurnfoldError('invalid_config', `${field}: ${remedy}`, { field, cause });
  }
}

const REMEDIES = [
  [/unknown command/i, 'this Redis does not know the command WAITAOF. Use Redis 7.2 or newer, or remove the setting.'],
  [
    /appendonly is disabled/i,
    'this Redis writes no append-only file. Set "appendonly yes" in Redis, or remove the setting.',
  ],
] as const;

interface GuardedCall {
  readonly script: { readonly sha: string; readonly lua: string };
  readonly args: readonly Argument[];
  /** Key of the mark (rule B2), in the hash slot of the script's keys. */
  readonly mark: string;
}

interface GuardedReply {
  readonly reply: unknown;
  readonly shortfall?: Shortfall;
}

interface Waiting extends GuardedCall {
  readonly resolve: (reply: GuardedReply) => void;
  readonly reject: (error: Error) => void;
  /** Number of refusals before the script ran: the server did not know the script, or the slot had moved. */
  tries: number;
}

type Result = readonly [error: Error | null, reply: unknown];

/** Most attempts to run a script: first by hash, then by text, then by hash again after the slot moved. */
const MAX_TRIES = 4;
/** A full Redis runs this script, too, because an erase frees memory and needs the mark of rule B2. */
const MARK = "#!lua flags=allow-oom\nredis.call('SET', KEYS[1], '')";
const MAX_BATCH = 200;

class BarrierLane {
  readonly #redis: Redis;
  readonly #durability: Durability;
  #waiting: Waiting[] = [];
  #isRunning = false;
  #sent = 0;

  constructor(redis: Redis, durability: Durability) {
    this.#redis = redis;
    this.#durability = durability;
  }

  /** Number of calls in flight. A connection that cannot send now counts as the busiest. */
  get load(): number {
    return this.#redis.status === 'ready' ? this.#sent + this.#waiting.length : Number.MAX_SAFE_INTEGER;
  }

  /** Rejects with the error of Redis or of the network. Even then, the script may have run. */
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
      // A plain read makes the Cluster connection find the slot's new node. A pipeline with a WAIT does not.
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

  /** @param results reply to the mark, then the reply of each WAIT */
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

/** WAIT replies with a number of replicas, WAITAOF with the disks of the master (0 or 1) and of replicas. */
function readReached(replies: readonly unknown[]): Barriers {
  const [first, second] = replies as [number | [number, number], [number, number]?];
  if (Array.isArray(first)) return { replicas: first[1], fsynced: first[0] };
  return { replicas: first, ...(second !== undefined && { fsynced: second[0] }) };
}

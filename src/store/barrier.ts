import type { Redis } from 'ioredis';
import type { Acknowledged, Durability } from '../domain/durability.ts';
import { TurnfoldError } from '../domain/errors.ts';
import { BarrierLane } from './barrier-lane.ts';
import type { Keyspace } from './keys.ts';
import { callStoreOnce } from './records.ts';
import { connect, duplicateConnection } from './redis/connection.ts';
import { conversationOf, Script, type ScriptDefinition } from './script.ts';

/**
 * Number of connections that only run writes followed by WAIT, because WAIT blocks its connection. While one connection
 * waits, the others send writes.
 */
const LANES = 4;
/**
 * Milliseconds that a call waits for Redis to answer, in addition to the wait for replicas.
 */
const ANSWER_MS = 900;

/**
 * Durability barrier: runs scripts and reports their writes as done only once replicas or disks have them. The barrier
 * has connections of its own.
 */
export class Barrier {
  readonly #lanes: readonly BarrierLane[];
  readonly #connections: readonly Redis[];

  private constructor(connections: readonly Redis[], durability: Durability) {
    this.#connections = connections;
    this.#lanes = connections.map((connection) => new BarrierLane(connection, durability));
  }

  /**
   * Opens the connections of the barrier.
   * @throws redis_unavailable if Redis does not answer. invalid_config if the server cannot wait for its disk.
   */
  static async open(redis: Redis, durability: Durability): Promise<Barrier> {
    const timeoutMs = durability.timeoutMs * (durability.fsync === 'local' ? 2 : 1);
    const connections = Array.from({ length: LANES }, () =>
      duplicateConnection(redis, {
        lazyConnect: true,
        enableOfflineQueue: false,
        // A WAIT must not be sent again on a new connection, because that connection has no writes and WAIT would
        // succeed at once.
        autoResendUnfulfilledCommands: false,
        // A write that a demoted master refused is not sent again by ioredis. The next call finds the new master.
        reconnectOnError: (error) => error.message.startsWith('READONLY'),
        maxRetriesPerRequest: 0,
        commandTimeout: timeoutMs + ANSWER_MS,
      }),
    );
    // Outages are reported by the store's main connection. Without a listener here, ioredis would print each error.
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

  /**
   * Makes an operation that runs a script and then waits for replicas or disks.
   * @param isDone true if a reply says that the write is done. Other replies are returned without waiting.
   */
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

/** Error replies of WAITAOF, each with advice for the operator. */
const REMEDIES = [
  [/unknown command/i, 'this Redis does not know the command WAITAOF. Use Redis 7.2 or newer, or remove the setting.'],
  [
    /appendonly is disabled/i,
    'this Redis writes no append-only file. Set "appendonly yes" in Redis, or remove the setting.',
  ],
] as const;

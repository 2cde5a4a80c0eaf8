import type { Redis } from 'ioredis';
import type { Acknowledged, Durability } from '../domain/durability.ts';
import { TurnfoldError } from '../domain/errors.ts';
import { BarrierLane } from './barrier-lane.ts';
import { callRedisOnce, connect, duplicateConnection } from './connection.ts';
import { decodeReply, encodeArguments, loadScript, type ScriptDefinition } from './script.ts';

/**
 * WAIT stalls all that comes behind it on its connection: no other operation runs on these. While one waits, the others
 * still take writes at once.
 */
const LANES = 4;
/** What an answer may take besides the wait, as anywhere else where calls fail fast. */
const ANSWER_MS = 900;

export type GuardedScript<Input, Reply> = (input: Input) => Promise<Acknowledged<Reply>>;

interface Guard<Input, Reply> {
  /** a key of the script's slot, to be written before the wait */
  readonly markOf: (input: Input) => string;
  /** whether a reply tells of something as done; any other is answered as it is */
  readonly tellsOfDone: (reply: Reply) => boolean;
}

/** Runs scripts whose answers count only once replicas, or disks, hold what they wrote. It owns its connections. */
export class Barrier {
  readonly #lanes: readonly BarrierLane[];
  readonly #connections: readonly Redis[];

  private constructor(connections: readonly Redis[], durability: Durability) {
    this.#connections = connections;
    this.#lanes = connections.map((connection) => new BarrierLane(connection, durability));
  }

  /** @throws redis_unavailable; invalid_config where the server cannot wait for its disk */
  static async open(redis: Redis, durability: Durability): Promise<Barrier> {
    const timeoutMs = durability.timeoutMs * (durability.fsync === 'local' ? 2 : 1);
    const connections = Array.from({ length: LANES }, () =>
      duplicateConnection(redis, {
        lazyConnect: true,
        enableAutoPipelining: false,
        enableOfflineQueue: false,
        // A WAIT that is sent again, on a connection that has written nothing, answers at once: as if all were held.
        autoResendUnfulfilledCommands: false,
        // Nor what a demoted master refused, but the next call looks for the new one.
        reconnectOnError: (error) => error.message.startsWith('READONLY'),
        maxRetriesPerRequest: 0,
        commandTimeout: timeoutMs + ANSWER_MS,
      }),
    );
    // The store's own connection tells of outages; without a listener ioredis would print each.
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

  /** A script as an operation behind the barrier. */
  bind<Input, Reply extends object>(
    definition: ScriptDefinition<Input, Reply>,
    { markOf, tellsOfDone }: Guard<Input, Reply>,
  ): GuardedScript<Input, Reply> {
    const script = loadScript(definition);
    return async (input) => {
      const { reply, shortfall } = await callRedisOnce(() =>
        this.#pickLane().run({ script, args: encodeArguments(script, input), mark: markOf(input) }),
      );
      const decoded = decodeReply(script, reply, input);
      return shortfall === undefined || !tellsOfDone(decoded) ? decoded : { ...decoded, shortfall };
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
    await callRedisOnce(() => redis.call('waitaof', [1, 0, 1]));
  } catch (cause) {
    const need = NEEDS.find(({ error }) => cause instanceof Error && error.test(cause.message))?.need;
    if (need === undefined) throw cause;
    const field = 'durability.fsync';
    throw new TurnfoldError('invalid_config', `${field}: needs ${need}`, { field, cause });
  }
}

/** What an error of WAITAOF asks for. */
const NEEDS = [
  { error: /unknown command/i, need: 'WAITAOF, which this Redis does not know (7.2 does)' },
  { error: /appendonly is disabled/i, need: 'appendonly yes, which this Redis has not' },
] as const;

import { monotonicFactory } from 'ulidx';
import { type Durability, durabilitySchema } from '../domain/durability.ts';
import { TurnfoldError } from '../domain/errors.ts';
import { parseInput } from '../domain/parse.ts';
import type { RedisTls } from '../domain/redis-tls.ts';
import { openWakeQueue } from '../queue/wake-queue.ts';
import { connectStore } from '../store/connect-store.ts';
import { readCurrentTrace } from '../telemetry/trace-parent.ts';
import { type Encoding, loadTokenCounter } from '../tokens/token-counter.ts';
import { createClient, type TurnfoldClient } from './client.ts';

export interface ClientOptions {
  readonly redisUrl: string;
  /** for `rediss`: an authority of your own, a certificate of ours */
  readonly redisTls?: RedisTls | undefined;
  /** the shards that the database was made with (256) */
  readonly shards?: number;
  /** queue shards of the workers (1) */
  readonly queueShards?: number;
  /** the encoding of an agent's model, where it is not `o200k_base` */
  readonly encodingOf?: (agent: string) => Encoding;
  /** what calls that write wait for before they answer; past it they fail with `accepted_unsure` */
  readonly durability?: Durability;
  /** told of connection trouble; calls report theirs themselves */
  readonly onError?: (error: unknown) => void;
}

/** Leaves the rest of a second to the caller. */
const OPEN_MS = 900;

export interface OpenClient extends TurnfoldClient {
  close(): Promise<void>;
}

/**
 * Connects a service. Every call fails within a second while Redis is away, and works again once it is back.
 * @throws invalid_config, redis_unavailable, incompatible_store
 */
export async function openClient(options: ClientOptions): Promise<OpenClient> {
  const { redisUrl: url, redisTls: tls, shards = 256, queueShards = 1, encodingOf = () => 'o200k_base' } = options;
  const onError = options.onError ?? (() => undefined);
  const { store, notices, texts, close } = await inTime(
    connectStore({ url, tls, shards, failsFast: true, onError, ...readDurability(options.durability) }),
  );
  const wakes = openWakeQueue({ url, tls, shards: queueShards, failsFast: true, onError });
  const next = monotonicFactory();
  // A wake carries no truth. What it tells of is in Redis before it is added, and the sweeper looks within seconds: one that
  // fails must not tell the caller that the call failed, who would make it again, as another turn.
  const client = createClient({
    turns: store,
    contexts: store,
    passes: store,
    versions: store,
    proposals: store,
    notices,
    texts,
    wakes: { wake: (...wake) => wakes.wake(...wake).catch(onError) },
    onError,
    counterFor: (agent) => loadTokenCounter(encodingOf(agent)),
    currentTrace: readCurrentTrace,
    ids: { next: () => next() },
    now: () => Date.now(),
  });
  return {
    ...client,
    async close() {
      await Promise.all([wakes.close(), close()]);
    },
  };
}

/** WAIT takes 0 ms for ever. @throws invalid_input */
function readDurability(durability: Durability | undefined): { durability?: Durability } {
  return durability === undefined ? {} : { durability: parseInput(durabilitySchema, durability, 'durability') };
}

/** A server that takes a connection and says nothing is given up in time; what may still become of it is closed. */
async function inTime<T extends { close(): Promise<void> }>(opening: Promise<T>): Promise<T> {
  const { promise: deadline, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(new TurnfoldError('redis_unavailable', `Redis did not answer within ${OPEN_MS} ms.`));
  }, OPEN_MS);
  try {
    return await Promise.race([opening, deadline]);
  } catch (error) {
    opening.then((late) => late.close()).catch(() => undefined);
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

import { z } from 'zod';
import { type Durability, durabilitySchema } from '../../domain/durability.ts';
import { ENCODINGS, type Encoding } from '../../domain/model.ts';
import { parseInput } from '../../domain/parse.ts';
import { functionSchema } from '../../domain/process-options.ts';
import { type RedisTls, redisOptions } from '../../store/redis/address.ts';

export interface ClientOptions {
  /** Address of a Redis server, of Sentinels or of a Cluster, with credentials. */
  readonly redisUrl: string;
  /** TLS settings for a `rediss` address, e.g. a private certificate authority. */
  readonly redisTls?: RedisTls | undefined;
  /** Separates the conversations, queues, keys and webhooks of applications that share a Redis (default `tf`). */
  readonly prefix?: string | undefined;
  /** Number of shards that the database was created with (default 256). */
  readonly shards?: number;
  /** Number of shards per queue, as the workers use it (default 1). */
  readonly queueShards?: number;
  /** Returns the tokenizer encoding of an agent's model (default `o200k_base`). */
  readonly encodingOf?: (agent: string) => Encoding;
  /** Replicas and disks that must confirm a write in time. Otherwise the call fails with `accepted_unsure`. */
  readonly durability?: Durability | undefined;
  /** How long a call is retried while Redis is unreachable, in ms (5,000). Then it fails with `redis_unavailable`. */
  readonly deadlineMs?: number;
  /** If true, calls fail within a second while Redis is unreachable (false). A busy Redis may take longer. */
  readonly failFast?: boolean;
  /** Receives connection errors and failures to add a wake job. A call throws its own errors. */
  readonly onError?: (error: unknown) => void;
}

export type ClientSettings = ReturnType<typeof readClientOptions>;

const DEADLINE_MS = 5_000;
/** One day in ms. A larger number probably has another unit. */
const MAX_DEADLINE_MS = 86_400_000;

const clientSchema = z.strictObject({
  ...redisOptions,
  deadlineMs: z.number().int().min(0).max(MAX_DEADLINE_MS).default(DEADLINE_MS),
  failFast: z.boolean().default(false),
  encodingOf: functionSchema.optional(),
  durability: z.unknown().optional(),
  onError: functionSchema.optional(),
});

const encodingSchema: z.ZodType<Encoding> = z.enum(ENCODINGS, `must be one of ${ENCODINGS.join(', ')}`);

/** @throws invalid_config, or invalid_input for `durability`, with the field */
export function readClientOptions(options: ClientOptions) {
  const { deadlineMs, failFast, ...parsed } = parseInput(clientSchema, options, '', 'invalid_config');
  const { encodingOf = (): Encoding => 'o200k_base', onError = () => undefined, durability } = options;
  return {
    ...parsed,
    encodingOf,
    onError,
    deadlineMs: failFast ? 0 : deadlineMs,
    // With a timeout of 0 ms, the Redis command WAIT would block forever, so the schema refuses 0.
    durability: durability === undefined ? undefined : parseInput(durabilitySchema, durability, 'durability'),
  };
}

export function readEncoding(encoding: Encoding): Encoding {
  return parseInput(encodingSchema, encoding, 'encodingOf', 'invalid_config');
}

import { z } from 'zod';
import { type Durability, durabilitySchema } from '../domain/durability.ts';
import { ENCODINGS, type Encoding } from '../domain/model.ts';
import { parseInput } from '../domain/parse.ts';
import { functionSchema } from '../domain/process-options.ts';
import { type RedisTls, redisOptions } from '../redis/address.ts';

export interface ClientOptions {
  /** Address of one server, of Sentinels or of a Cluster, with credentials if Redis requires them. */
  readonly redisUrl: string;
  /** TLS settings for `rediss`: a private authority, a client certificate. */
  readonly redisTls?: RedisTls | undefined;
  /** Shards that the database was created with (256). */
  readonly shards?: number;
  /** Queue shards of the workers (1). */
  readonly queueShards?: number;
  /** Encoding of an agent's model (`o200k_base`). An unknown encoding fails the call that needs it. */
  readonly encodingOf?: (agent: string) => Encoding;
  /**
   * Copies that a write must reach before a call returns. A call that times out on them fails with `accepted_unsure`.
   */
  readonly durability?: Durability | undefined;
  /**
   * How long a call is retried while Redis is away, in ms (5,000). Retries use the same ids, so nothing is written
   * twice. Then the call fails with `redis_unavailable`.
   */
  readonly deadlineMs?: number;
  /** Makes calls fail within a second while Redis is away (false), for callers with their own retries. */
  readonly failFast?: boolean;
  /** Receives connection errors and failed wakes. Errors of a call are thrown by the call. */
  readonly onError?: (error: unknown) => void;
}

/** The options with defaults filled in. `deadlineMs` is 0 with `failFast`. */
export type ClientSettings = ReturnType<typeof readClientOptions>;

const DEADLINE_MS = 5_000;
/** One day. A longer deadline is a mistake in the unit. */
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
    // The schema rejects a timeout of 0 ms, with which WAIT would block forever.
    durability: durability === undefined ? undefined : parseInput(durabilitySchema, durability, 'durability'),
  };
}

/** Validates the encoding that `encodingOf` returned. @throws invalid_config */
export function readEncoding(encoding: Encoding): Encoding {
  return parseInput(encodingSchema, encoding, 'encodingOf', 'invalid_config');
}

import { z } from 'zod';
import { type Durability, durabilitySchema } from '../domain/durability.ts';
import { ENCODINGS, type Encoding } from '../domain/model.ts';
import { parseInput } from '../domain/parse.ts';
import { functionSchema } from '../domain/process-options.ts';
import { type RedisTls, redisOptions } from '../redis/address.ts';

export interface ClientOptions {
  /** address of one server, of Sentinels or of a Cluster; with the login where Redis asks for one */
  readonly redisUrl: string;
  /** for `rediss`: an authority of your own, a certificate of ours */
  readonly redisTls?: RedisTls | undefined;
  /** the shards that the database was made with (256) */
  readonly shards?: number;
  /** queue shards of the workers (1) */
  readonly queueShards?: number;
  /** the encoding of an agent's model, where it is not `o200k_base`; another one fails the call that asks for it */
  readonly encodingOf?: (agent: string) => Encoding;
  /** what calls that write wait for before they answer; past it they fail with `accepted_unsure` */
  readonly durability?: Durability | undefined;
  /**
   * ms that a call goes on trying while Redis is away, under the same ids, so that nothing is written twice (5,000). Then it
   * fails with `redis_unavailable`
   */
  readonly deadlineMs?: number;
  /** a call fails within a second while Redis is away (default false): for callers with retries of their own */
  readonly failFast?: boolean;
  /** told of connection trouble; calls report theirs themselves */
  readonly onError?: (error: unknown) => void;
}

/** The options with what is absent from them. */
export interface ClientSettings {
  readonly redisUrl: string;
  readonly redisTls: RedisTls | undefined;
  readonly shards: number;
  readonly queueShards: number;
  readonly encodingOf: (agent: string) => Encoding;
  readonly onError: (error: unknown) => void;
  /** 0 with `failFast` */
  readonly deadlineMs: number;
  readonly durability?: Durability;
}

const DEADLINE_MS = 5_000;
/** A day: a call that tries for longer is a mistake in the unit. */
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

/** @throws invalid_config; invalid_input for `durability`; with the field */
export function readClientOptions(options: ClientOptions): ClientSettings {
  const parsed = parseInput(clientSchema, options, '', 'invalid_config');
  const { redisUrl, redisTls, shards, queueShards, deadlineMs, failFast } = parsed;
  const { encodingOf = () => 'o200k_base', onError = () => undefined, durability } = options;
  return {
    redisUrl,
    redisTls,
    shards,
    queueShards,
    encodingOf,
    onError,
    deadlineMs: failFast ? 0 : deadlineMs,
    // WAIT takes 0 ms for ever.
    ...(durability !== undefined && { durability: parseInput(durabilitySchema, durability, 'durability') }),
  };
}

/** What `encodingOf` said of an agent. @throws invalid_config */
export function readEncoding(encoding: Encoding): Encoding {
  return parseInput(encodingSchema, encoding, 'encodingOf', 'invalid_config');
}

import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { Durability } from './domain/durability.ts';
import { TurnfoldError } from './domain/errors.ts';
import { REDIS_ADDRESS_FORMS, readRedisAddress } from './domain/redis-address.ts';

/** A whole number. The message is one for all that is wrong, so that it says what is right. */
function wholeNumber(least: number, most: number): z.ZodCoercedNumber {
  const error = `must be a whole number from ${least} to ${most}`;
  return z.coerce.number({ error }).int({ error }).min(least, { error }).max(most, { error });
}

const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;

/** Settings of the environment: name → how it is read. Nothing else of the project reads the environment. */
const settings = {
  REDIS_URL: z
    .string()
    .refine((text) => readRedisAddress(text) !== undefined, `must be ${REDIS_ADDRESS_FORMS}`)
    .optional(),
  /** written once to the database, checked at start */
  TURNFOLD_SHARDS: wholeNumber(1, 4_096).default(256),
  TURNFOLD_QUEUE_SHARDS: wholeNumber(1, 64).default(1),
  TURNFOLD_TURN_CONCURRENCY: wholeNumber(1, 1_000).default(50),
  TURNFOLD_COMPACTION_CONCURRENCY: wholeNumber(1, 1_000).default(10),
  TURNFOLD_SUMMARIZATION_CONCURRENCY: wholeNumber(1, 1_000).default(10),
  /** 0 takes any free port */
  TURNFOLD_METRICS_PORT: wholeNumber(0, 65_535).default(9464),
  TURNFOLD_METRICS_HOST: z.string().default('127.0.0.1'),
  /** ms that a worker takes to finish what it holds after SIGTERM */
  TURNFOLD_SHUTDOWN_MS: wholeNumber(1, 600_000).default(10_000),
  /** replicas that must hold an accept or an append before it is acknowledged; 0: the master's word is enough */
  TURNFOLD_DURABLE_REPLICAS: wholeNumber(0, 100).default(0),
  TURNFOLD_DURABLE_TIMEOUT_MS: wholeNumber(1, 600_000).default(1_000),
  TURNFOLD_DURABLE_FSYNC: z
    .enum(['none', 'local', 'replica'], { error: 'must be none, local or replica' })
    .default('none'),
  TURNFOLD_LOG_LEVEL: z.enum(LOG_LEVELS, { error: `must be one of ${LOG_LEVELS.join(', ')}` }).default('info'),
} as const;

type Read<Name extends keyof typeof settings> = z.output<(typeof settings)[Name]>;

export interface Config {
  readonly redisUrl: string | undefined;
  readonly shards: number;
  readonly queueShards: number;
  readonly concurrency: { readonly turn: number; readonly compaction: number; readonly summarization: number };
  readonly metrics: { readonly host: string; readonly port: number };
  readonly shutdownMs: number;
  /** undefined where neither replicas nor disks are asked for */
  readonly durability: Durability | undefined;
  readonly logLevel: Read<'TURNFOLD_LOG_LEVEL'>;
}

/** @throws invalid_config, with the variable's name and never its value */
export function readConfig(env: Readonly<Record<string, string | undefined>> = process.env): Config {
  const read = <Name extends keyof typeof settings>(name: Name): Read<Name> => {
    const value = env[name];
    const result = settings[name].safeParse(value?.trim() === '' ? undefined : value);
    if (result.success) return result.data as Read<Name>;
    throw new TurnfoldError('invalid_config', `${name}: ${result.error.issues[0]?.message ?? 'invalid'}`, {
      field: name,
    });
  };
  return {
    redisUrl: read('REDIS_URL'),
    shards: read('TURNFOLD_SHARDS'),
    queueShards: read('TURNFOLD_QUEUE_SHARDS'),
    concurrency: {
      turn: read('TURNFOLD_TURN_CONCURRENCY'),
      compaction: read('TURNFOLD_COMPACTION_CONCURRENCY'),
      summarization: read('TURNFOLD_SUMMARIZATION_CONCURRENCY'),
    },
    metrics: { host: read('TURNFOLD_METRICS_HOST'), port: read('TURNFOLD_METRICS_PORT') },
    shutdownMs: read('TURNFOLD_SHUTDOWN_MS'),
    durability: toDurability(
      read('TURNFOLD_DURABLE_REPLICAS'),
      read('TURNFOLD_DURABLE_TIMEOUT_MS'),
      read('TURNFOLD_DURABLE_FSYNC'),
    ),
    logLevel: read('TURNFOLD_LOG_LEVEL'),
  };
}

function toDurability(
  replicas: number,
  timeoutMs: number,
  fsync: Read<'TURNFOLD_DURABLE_FSYNC'>,
): Durability | undefined {
  if (replicas === 0 && fsync === 'none') return undefined;
  return { replicas, timeoutMs, ...(fsync !== 'none' && { fsync }) };
}

/** Where a provider's models are, and with what key. */
export interface ProviderSetting {
  /** the variable that holds the key, to be named where it is missing */
  readonly keyVariable: string;
  readonly apiKey: string | undefined;
  readonly baseUrl: string | undefined;
}

export type ProviderSettings = Readonly<Record<'anthropic' | 'openai', ProviderSetting>>;

/**
 * Keys by variable, or by the file that the variable with `_FILE` names. They go to a model's client and nowhere else.
 * @throws invalid_config, with the variable's name and never its value
 */
export function readProviderSettings(
  env: Readonly<Record<string, string | undefined>> = process.env,
  readFile: (path: string) => string = (path) => readFileSync(path, 'utf8'),
): ProviderSettings {
  const read = (name: string): ProviderSetting => ({
    keyVariable: `${name}_API_KEY`,
    apiKey: readSecret(env, readFile, `${name}_API_KEY`),
    baseUrl: readAddress(env, `${name}_BASE_URL`),
  });
  return { anthropic: read('ANTHROPIC'), openai: read('OPENAI') };
}

function readSecret(
  env: Readonly<Record<string, string | undefined>>,
  readFile: (path: string) => string,
  name: string,
): string | undefined {
  const given = env[name]?.trim();
  if (given !== undefined && given !== '') return given;
  const field = `${name}_FILE`;
  const path = env[field]?.trim();
  if (path === undefined || path === '') return undefined;
  let secret: string;
  try {
    secret = readFile(path).trim();
  } catch (cause) {
    throw new TurnfoldError('invalid_config', `${field}: its file cannot be read`, { field, cause });
  }
  if (secret === '') throw new TurnfoldError('invalid_config', `${field}: its file is empty`, { field });
  return secret;
}

function readAddress(env: Readonly<Record<string, string | undefined>>, field: string): string | undefined {
  const given = env[field]?.trim();
  if (given === undefined || given === '') return undefined;
  if (URL.canParse(given) && /^https?:$/.test(new URL(given).protocol)) return given;
  throw new TurnfoldError('invalid_config', `${field}: must be an http(s) address`, { field });
}

import { z } from 'zod';
import { describeWholeRange, PROCESS_DEFAULTS, PROCESS_RANGES, type WholeRange } from '../domain/process-options.ts';
import { REDIS_ADDRESS_FORMS, readRedisAddress, showAddress } from '../redis/address.ts';
import { isCertificate, isPrivateKey, PEM_CERTIFICATE, PEM_KEY, showCertificates } from '../redis/tls.ts';

/** One variable of the environment: how its text is read, and what to tell people of it. */
export interface Setting<Value = unknown> {
  readonly schema: z.ZodType<Value>;
  readonly about: string;
  /** `NAME_FILE` may name a file that holds it: how a secret gets into a container */
  readonly hasFile?: true;
  /** as it may be shown; without it, as it is */
  readonly show?: (text: string) => string;
}

const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
const SWITCH = ['true', 'false'] as const;
const FSYNCS = ['none', 'local', 'replica'] as const;

/** All that turnfold reads of the environment, but for where the demo looks for a Redis of its own. */
export const SETTINGS = {
  REDIS_URL: {
    schema: z
      .string()
      .refine((text) => readRedisAddress(text) !== undefined, `must be ${REDIS_ADDRESS_FORMS}`)
      .optional(),
    about: `Where Redis is: ${REDIS_ADDRESS_FORMS}. Sentinels are told the password of the address, or one of their own: \`?sentinelPassword=…\`, and \`&sentinelUsername=…\`, percent-encoded. \`worker\` insists on it; commands try redis://127.0.0.1:6379 without it; \`dev\` and \`demo\` start their own.`,
    hasFile: true,
    show: showRedisAddress,
  },
  REDIS_CA: {
    schema: z.string().refine(isCertificate, PEM_CERTIFICATE).optional(),
    about:
      'For `rediss`: whom to trust, in PEM, instead of the authorities that Node knows. For connections to Redis alone.',
    hasFile: true,
    show: showCertificates,
  },
  REDIS_CERT: {
    schema: z.string().refine(isCertificate, PEM_CERTIFICATE).optional(),
    about: 'For a Redis that asks its clients for a certificate: ours, in PEM.',
    hasFile: true,
    show: showCertificates,
  },
  REDIS_KEY: {
    schema: z.string().refine(isPrivateKey, PEM_KEY).optional(),
    about: 'Its key, in PEM, without a passphrase.',
    hasFile: true,
    show: () => '***',
  },
  REDIS_SERVER_NAME: {
    schema: z.string().optional(),
    about:
      'For `rediss`: the name in the certificates of the servers, where it is not the host of the address. Sentinels and Clusters tell addresses of their own, often IPs.',
  },
  TURNFOLD_SHARDS: {
    schema: wholeNumber(PROCESS_RANGES.shards).default(PROCESS_DEFAULTS.shards),
    about:
      'How many shards conversations are spread over. Written once to the database: the same for all its processes.',
  },
  TURNFOLD_QUEUE_SHARDS: {
    schema: wholeNumber(PROCESS_RANGES.queueShards).default(PROCESS_DEFAULTS.queueShards),
    about:
      'How many shards each queue has: the same for all processes of a database. A worker takes one job at a time of each at least, whatever its concurrency.',
  },
  TURNFOLD_TURN_CONCURRENCY: {
    schema: wholeNumber(PROCESS_RANGES.concurrency).default(PROCESS_DEFAULTS.concurrency.turn),
    about: 'Turns at a time in a worker.',
  },
  TURNFOLD_COMPACTION_CONCURRENCY: {
    schema: wholeNumber(PROCESS_RANGES.concurrency).default(PROCESS_DEFAULTS.concurrency.compaction),
    about: 'Passes at a time in a worker.',
  },
  TURNFOLD_SUMMARIZATION_CONCURRENCY: {
    schema: wholeNumber(PROCESS_RANGES.concurrency).default(PROCESS_DEFAULTS.concurrency.summarization),
    about: 'Summaries at a time in a worker.',
  },
  TURNFOLD_METRICS_PORT: {
    schema: wholeNumber(PROCESS_RANGES.port).default(9464),
    about: 'Port of a worker’s pages (`/metrics`, `/health`, `/ready`); 0 takes any free one.',
  },
  TURNFOLD_METRICS_HOST: {
    schema: z.string().default('127.0.0.1'),
    about: 'Address that they are bound to. They have no access control of their own.',
  },
  TURNFOLD_SHUTDOWN_MS: {
    schema: wholeNumber(PROCESS_RANGES.shutdownMs).default(PROCESS_DEFAULTS.shutdownMs),
    about:
      'Time that a worker has after SIGTERM to hand back its leases. Calls in flight may go on until a quarter of it is left, or 2 s if that is less. The SIGKILL of an orchestrator must come later.',
  },
  TURNFOLD_STUCK_MS: {
    schema: wholeNumber(PROCESS_RANGES.stuckMs).default(PROCESS_DEFAULTS.stuckMs),
    about: 'A worker that could take more jobs, and leaves one in its queue for so long, is not ready.',
  },
  TURNFOLD_DURABLE_REPLICAS: {
    schema: wholeNumber({ least: 0, most: 100 }).default(0),
    about:
      'For the command line; services pass `durability`. Replicas that must hold a write before a caller is told that it is done; 0: the master’s word is enough.',
  },
  TURNFOLD_DURABLE_TIMEOUT_MS: {
    schema: wholeNumber({ least: 1, most: 600_000 }).default(1_000),
    about: 'How long a caller waits for those replicas, or disks.',
  },
  TURNFOLD_DURABLE_FSYNC: {
    schema: oneOf(FSYNCS, 'must be none, local or replica').default('none'),
    about: 'Whose disks must hold it, too: the master’s (`local`), or the replicas’ as well. Redis 7.2 or later.',
  },
  TURNFOLD_LOG_LEVEL: {
    schema: oneOf(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`).default('info'),
    about: 'The least that a worker logs.',
  },
  LOG_CONTENT: {
    schema: oneOf(SWITCH, 'must be true or false').default('false'),
    about:
      'Whether a worker logs what was said to models and tools and by them, and errors that could quote it. Secrets stay out. A text is cut at 16,384 characters, the messages of a request at 131,072, oldest first.',
  },
  TURNFOLD_TRACE_CONTENT: {
    schema: oneOf(SWITCH, 'must be true or false').default('false'),
    about: 'Whether its spans hold the same: traces go elsewhere than logs, and are kept there for others.',
  },
  ANTHROPIC_API_KEY: keyOf('Anthropic'),
  ANTHROPIC_BASE_URL: addressOf('Anthropic'),
  OPENAI_API_KEY: keyOf('OpenAI'),
  OPENAI_BASE_URL: addressOf('OpenAI'),
} as const satisfies Readonly<Record<string, Setting>>;

export type SettingName = keyof typeof SETTINGS;
export type SettingValue<Name extends SettingName> = z.output<(typeof SETTINGS)[Name]['schema']>;

export const SETTING_NAMES = Object.keys(SETTINGS) as readonly SettingName[];

/** The setting without the types of its value, for what treats all of them alike. */
export function settingOf(name: SettingName): Setting {
  return SETTINGS[name];
}

/** A whole number, as a text. */
function wholeNumber(range: WholeRange): z.ZodCoercedNumber {
  const error = describeWholeRange(range);
  return z.coerce.number({ error }).int({ error }).min(range.least, { error }).max(range.most, { error });
}

function oneOf<const Values extends readonly [string, ...string[]]>(values: Values, error: string) {
  return z.enum(values, { error });
}

function keyOf(provider: string) {
  return {
    schema: z.string().optional(),
    about: `Key of ${provider}, for agents whose model is there.`,
    hasFile: true,
    show: () => '***',
  } as const;
}

function addressOf(provider: string) {
  return {
    schema: z.string().refine(isHttpAddress, 'must be an http(s) address').optional(),
    about: `Where ${provider}’s API is, or what speaks it.`,
    show: showHttpAddress,
  } as const;
}

function isHttpAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

/** Without user, password and query: each of them may be a secret. */
function showHttpAddress(text: string): string {
  const { origin, pathname, username, password } = new URL(text);
  return username || password ? `${origin.replace('//', '//***@')}${pathname}` : `${origin}${pathname}`;
}

function showRedisAddress(text: string): string {
  const address = readRedisAddress(text);
  return address === undefined ? '***' : showAddress(address);
}

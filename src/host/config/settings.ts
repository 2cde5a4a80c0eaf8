import { z } from 'zod';
import { HOST_PATTERNS, isHostPattern, splitList } from '../../domain/allowed-hosts.ts';
import { DEFAULT_PREFIX } from '../../domain/namespace.ts';
import {
  describeWholeRange,
  PROCESS_DEFAULTS,
  PROCESS_RANGES,
  prefixSchema,
  type WholeRange,
} from '../../domain/process-options.ts';
import { REDIS_ADDRESS_FORMS, readRedisAddress, showAddress } from '../../store/redis/address.ts';
import { isCertificate, isPrivateKey, PEM_CERTIFICATE, PEM_KEY, showCertificates } from '../../store/redis/tls.ts';

export interface Setting<Value = unknown> {
  readonly schema: z.ZodType<Value>;
  readonly about: string;
  /** True if `NAME_FILE` may name a file with the value, such as a mounted secret. */
  readonly hasFile?: true;
  /** Masks the secret parts. Absent: the value contains no secret. */
  readonly show?: (text: string) => string;
}

const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
const SWITCH = ['true', 'false'] as const;
const FSYNCS = ['none', 'local', 'replica'] as const;

/**
 * Every environment variable that turnfold reads, except PATH, HOME and XDG_CACHE_HOME (`host/local-redis`). The row
 * gives the type, the reference page, the schema for editors and the errors. `config.ts` places the value in `Config`.
 */
export const SETTINGS = {
  REDIS_URL: {
    schema: z
      .string()
      .refine((text) => readRedisAddress(text) !== undefined, `must be ${REDIS_ADDRESS_FORMS}`)
      .optional(),
    about: `Address of Redis: ${REDIS_ADDRESS_FORMS}. Sentinels use the password of the address. To use another one, append \`?sentinelPassword=…\` and \`&sentinelUsername=…\`, percent-encoded. \`worker\` requires this setting. Without it, \`dev\` and \`demo\` start a temporary Redis, and other commands try redis://127.0.0.1:6379.`,
    hasFile: true,
    show: showRedisAddress,
  },
  REDIS_CA: {
    schema: z.string().refine(isCertificate, PEM_CERTIFICATE).optional(),
    about:
      'For `rediss`: trusted certificate authorities, in PEM, instead of those of Node. Applies to connections to Redis only.',
    hasFile: true,
    show: showCertificates,
  },
  REDIS_CERT: {
    schema: z.string().refine(isCertificate, PEM_CERTIFICATE).optional(),
    about: 'Client certificate in PEM, for a Redis that requires one.',
    hasFile: true,
    show: showCertificates,
  },
  REDIS_KEY: {
    schema: z.string().refine(isPrivateKey, PEM_KEY).optional(),
    about: 'Private key of the client certificate, in PEM without a passphrase.',
    hasFile: true,
    show: () => '***',
  },
  REDIS_SERVER_NAME: {
    schema: z.string().optional(),
    about:
      'For `rediss`: the name in the server certificates, if it differs from the host of the address. Sentinels and Clusters often announce IP addresses.',
  },
  TURNFOLD_URL: {
    schema: z.string().refine(isOpenAddress, 'must be an http(s) address without user and password').optional(),
    about:
      'Address of a `turnfold serve` that `turnfold mcp` uses. Without it, `turnfold mcp` uses the Redis of `REDIS_URL`.',
    show: showHttpAddress,
  },
  TURNFOLD_KEY: {
    schema: z.string().min(1).optional(),
    about: 'Access key for the server of `TURNFOLD_URL`. It decides which tenant `turnfold mcp` reaches.',
    hasFile: true,
    show: () => '***',
  },
  TURNFOLD_PREFIX: {
    schema: prefixSchema.default(DEFAULT_PREFIX),
    about:
      'Separates applications that share a Redis: 1 to 64 characters of `A-Z a-z 0-9 _ . -`, not beginning with `tf` or `tq`. All processes of an application must use the same prefix.',
  },
  TURNFOLD_SHARDS: {
    schema: wholeNumber(PROCESS_RANGES.shards).default(PROCESS_DEFAULTS.shards),
    about:
      'Number of shards for conversations. Stored in the database at first use, so all processes must use the same number.',
  },
  TURNFOLD_QUEUE_SHARDS: {
    schema: wholeNumber(PROCESS_RANGES.queueShards).default(PROCESS_DEFAULTS.queueShards),
    about:
      'Number of shards per queue, the same for all processes of a database. A worker runs at least one job per shard, whatever its concurrency.',
  },
  TURNFOLD_TURN_CONCURRENCY: {
    schema: wholeNumber(PROCESS_RANGES.concurrency).default(PROCESS_DEFAULTS.concurrency.turn),
    about: 'Turns in parallel per worker.',
  },
  TURNFOLD_COMPACTION_CONCURRENCY: {
    schema: wholeNumber(PROCESS_RANGES.concurrency).default(PROCESS_DEFAULTS.concurrency.compaction),
    about: 'Compaction passes in parallel per worker.',
  },
  TURNFOLD_SUMMARIZATION_CONCURRENCY: {
    schema: wholeNumber(PROCESS_RANGES.concurrency).default(PROCESS_DEFAULTS.concurrency.summarization),
    about: 'Summarization jobs in parallel per worker.',
  },
  TURNFOLD_INBOX: {
    schema: oneOf(SWITCH, 'must be true or false').default('false'),
    about:
      '`true` lets workers of the role `turn` take turns from the queue `inbox`, to which services of any language add them.',
  },
  TURNFOLD_METRICS_PORT: {
    schema: wholeNumber(PROCESS_RANGES.port).default(9464),
    about: 'Port of a worker’s pages `/metrics`, `/health` and `/ready`. 0 takes any free port.',
  },
  TURNFOLD_METRICS_HOST: {
    schema: z.string().default('127.0.0.1'),
    about: 'Address that the pages are bound to. The pages have no access control.',
  },
  TURNFOLD_METRICS_ALLOWED_HOSTS: {
    schema: z.string().refine(isHostList, HOST_PATTERNS).optional(),
    about:
      'Host names under which the pages are read, beside `localhost` and IP addresses, comma-separated: `worker.internal`, `*.example.com`, or `*` for any.',
  },
  TURNFOLD_SHUTDOWN_MS: {
    schema: wholeNumber(PROCESS_RANGES.shutdownMs).default(PROCESS_DEFAULTS.shutdownMs),
    about:
      'Time for a worker to hand back its leases after SIGTERM. Calls in flight are aborted when a quarter of it is left, or 2 s if that is less. The SIGKILL of an orchestrator must come later.',
  },
  TURNFOLD_STUCK_MS: {
    schema: wholeNumber(PROCESS_RANGES.stuckMs).default(PROCESS_DEFAULTS.stuckMs),
    about: 'A worker with free capacity is not ready once a job has waited this long in its queue.',
  },
  TURNFOLD_MISSING_AGENT_MS: {
    schema: wholeNumber(PROCESS_RANGES.missingAgentMs).default(PROCESS_DEFAULTS.missingAgentMs),
    about:
      'Turns, passes and summaries of an agent fail as `unknown_agent` once no running worker has had the agent for this long. Until then they wait, e.g. for the workers of a new release.',
  },
  TURNFOLD_PROVIDER_WAIT_MS: {
    schema: wholeNumber(PROCESS_RANGES.providerWaitMs).default(PROCESS_DEFAULTS.providerWaitMs),
    about:
      'How long a model step waits for a provider that fails or limits calls. Then the turn fails as `retries_exhausted`.',
  },
  TURNFOLD_BLOCKED_MS: {
    schema: wholeNumber(PROCESS_RANGES.blockedMs).default(PROCESS_DEFAULTS.blockedMs),
    about:
      'How long a worker keeps its turns while a tool blocks its event loop. A thread renews their leases meanwhile. With 0, a block of 8 s costs the turns.',
  },
  TURNFOLD_GRAFANA_URL: {
    schema: z.string().refine(isOpenAddress, 'must be an http(s) address without user and password').optional(),
    about:
      'Address of a Grafana dashboard, to which the fleet page of the inspector links. Without user and password, because every viewer of the page gets the address.',
    show: showHttpAddress,
  },
  TURNFOLD_WEBHOOK_ALLOW_PRIVATE: {
    schema: oneOf(SWITCH, 'must be true or false').default('false'),
    about:
      '`true` lets workers send webhooks by http, and to private, loopback and link-local addresses. A person who may add webhooks then reaches services inside the network of the workers.',
  },
  TURNFOLD_DURABLE_REPLICAS: {
    schema: wholeNumber({ least: 0, most: 100 }).default(0),
    about:
      'For the command line only, because services pass `durability`. Number of replicas that must confirm a write before a command succeeds. With 0, the master alone is enough.',
  },
  TURNFOLD_DURABLE_TIMEOUT_MS: {
    schema: wholeNumber({ least: 1, most: 600_000 }).default(1_000),
    about: 'Time to wait for the confirmation of replicas or disks.',
  },
  TURNFOLD_DURABLE_FSYNC: {
    schema: oneOf(FSYNCS, 'must be none, local or replica').default('none'),
    about:
      'Disks that must confirm a write: the master’s (`local`), or also the replicas’ (`replica`). Needs Redis 7.2 or later.',
  },
  TURNFOLD_LOG_LEVEL: {
    schema: oneOf(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`).default('info'),
    about: 'Lowest level that a worker logs.',
  },
  LOG_CONTENT: {
    schema: oneOf(SWITCH, 'must be true or false').default('false'),
    about:
      '`true` logs the texts of models and tools, and errors that may quote them. Secrets are removed. A text is cut at 16,384 characters, the messages of a request at 131,072, oldest first.',
  },
  TURNFOLD_TRACE_CONTENT: {
    schema: oneOf(SWITCH, 'must be true or false').default('false'),
    about: '`true` puts the same texts into spans. Separate from logs, because traces have other stores and readers.',
  },
  ANTHROPIC_API_KEY: keyOf('Anthropic'),
  ANTHROPIC_BASE_URL: addressOf('Anthropic'),
  OPENAI_API_KEY: keyOf('OpenAI'),
  OPENAI_BASE_URL: addressOf('OpenAI'),
} as const satisfies Readonly<Record<string, Setting>>;

export type SettingName = keyof typeof SETTINGS;
export type SettingValue<Name extends SettingName> = z.output<(typeof SETTINGS)[Name]['schema']>;

export const SETTING_NAMES = Object.keys(SETTINGS) as readonly SettingName[];

/** Returns the row of a setting, typed with all optional fields, which single rows may lack. */
export function settingOf(name: SettingName): Setting {
  return SETTINGS[name];
}

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
    about: `API key of ${provider}, for agents with a model of ${provider}.`,
    hasFile: true,
    show: () => '***',
  } as const;
}

function addressOf(provider: string) {
  return {
    schema: z.string().refine(isHttpAddress, 'must be an http(s) address').optional(),
    about: `Address of the ${provider} API, or of a compatible service.`,
    show: showHttpAddress,
  } as const;
}

function isHttpAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

function isHostList(text: string): boolean {
  return splitList(text).every(isHostPattern);
}

function isOpenAddress(text: string): boolean {
  if (!isHttpAddress(text)) return false;
  const { username, password } = new URL(text);
  return username === '' && password === '';
}

/** Masks user, password and query of an address, because each may be a secret. */
function showHttpAddress(text: string): string {
  const { origin, pathname, username, password } = new URL(text);
  return username || password ? `${origin.replace('//', '//***@')}${pathname}` : `${origin}${pathname}`;
}

function showRedisAddress(text: string): string {
  const address = readRedisAddress(text);
  return address === undefined ? '***' : showAddress(address);
}

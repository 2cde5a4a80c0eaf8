import { existsSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { z } from 'zod';
import type { Agent } from '../domain/agent.ts';
import { boundedList } from '../domain/bounded-schemas.ts';
import { fieldError } from '../domain/errors.ts';
import type { Model } from '../domain/model.ts';
import { parseInput } from '../domain/parse.ts';
import type { PolicyInput } from '../domain/policy.ts';
import { readPolicy } from '../domain/policy-input.ts';
import { functionSchema, PROCESS_DEFAULTS, PROCESS_RANGES, wholeNumber } from '../domain/process-options.ts';
import { type RedisTls, redisOptions } from '../store/redis/address.ts';
import { modelSchema, readAgents } from './agent-schema.ts';
import type { PageAddress } from './health/page-server.ts';
import type { ListenerOptions } from './listeners.ts';

export const ROLES = ['turn', 'compaction', 'summarization'] as const;
export type WorkerRole = (typeof ROLES)[number];

/**
 * Options of `startWorkers`. Defaults are those of the command `turnfold worker`, except for `metrics`: without this
 * option, no pages are served.
 */
export interface WorkersOptions extends ListenerOptions {
  /** Address of one Redis server, of Sentinels or of a Cluster, with credentials if Redis requires them. */
  readonly redisUrl: string;
  /** Agents whose turns these workers run. */
  readonly agents: readonly Agent[];
  /**
   * Module that exports the same `agents`: a path or URL, such as `new URL('./agents.js', import.meta.url)`. With it, a
   * turn whose workers died twice runs in a process of its own. Without it, the turn runs alone here, after the other
   * turns were handed back.
   */
  readonly agentsModule?: string | URL | undefined;
  /** TLS settings for a `rediss` address, such as a private certificate authority or a client certificate. */
  readonly redisTls?: RedisTls | undefined;
  /** Separates applications that share a Redis (`tf`). All processes of an application must use the same prefix. */
  readonly prefix?: string | undefined;
  /** Roles of this process (default: all). */
  readonly roles?: readonly WorkerRole[];
  /** Models that policies may name as summarizers, in addition to the agents' models. */
  readonly summarizers?: readonly Model[];
  /** Default policy settings. The policy of an agent overrides them. */
  readonly policy?: PolicyInput;
  /** A complete second policy that is measured at every compaction and never applied. */
  readonly shadow?: PolicyInput;
  /** Number of shards for conversations (256). All processes of a database must use the same number. */
  readonly shards?: number;
  /** Number of shards of each queue (1). All processes of a database must use the same number. */
  readonly queueShards?: number;
  /** Jobs in parallel in this process for each role (50, 10, 10). At least one job runs for each queue shard. */
  readonly concurrency?: Readonly<Partial<Record<WorkerRole, number>>>;
  /**
   * Takes turns that other services add to the queue `inbox` (false). See docs/how-to/enqueue-from-other-languages.md.
   */
  readonly inbox?: boolean;
  /** Address of the metrics and health pages. Absent: no pages. */
  readonly metrics?: {
    /** Address to bind, such as 127.0.0.1. */
    readonly host: string;
    /** 0 takes any free port. */
    readonly port: number;
    /**
     * Host names under which the pages may be read, beside `localhost` and IP addresses. `*.example.com` allows all
     * subdomains.
     */
    readonly allowedHosts?: readonly string[] | undefined;
  };
  /** Delivery of webhooks. */
  readonly webhooks?: {
    /** Allows webhooks to use http, and private, loopback and link-local addresses (false). */
    readonly allowPrivate?: boolean | undefined;
  };
  /** How long a close waits for work in flight, in ms (10,000). */
  readonly shutdownMs?: number;
  /** A worker with free capacity counts as not ready once a job has waited this long, in ms (60,000). */
  readonly stuckMs?: number;
  /** Work of an agent fails once no running worker has had the agent for this long, in ms (600,000, 10 minutes). */
  readonly missingAgentMs?: number;
  /**
   * How long a model step waits for a provider that fails or limits calls, in ms (86,400,000, a day). Then the turn
   * fails as `retries_exhausted`. A shorter `turnTimeoutMs` or `deadlineMs` ends it before.
   */
  readonly providerWaitMs?: number;
  /**
   * How long a worker with a blocked event loop keeps its turns, in ms (60,000). A thread renews their leases
   * meanwhile. With 0, a block of 8 s costs the turns.
   */
  readonly blockedMs?: number;
  /** Aborts a start that waits for Redis, with the signal's reason. Does not affect workers that have started. */
  readonly signal?: AbortSignal | undefined;
}

export interface WorkersSettings extends ListenerOptions {
  readonly redisUrl: string;
  readonly redisTls: RedisTls | undefined;
  readonly prefix: string | undefined;
  readonly agents: readonly Agent[];
  readonly agentsModule: string | undefined;
  readonly roles: readonly WorkerRole[];
  readonly summarizers: readonly Model[];
  readonly policy: PolicyInput;
  readonly shadow: PolicyInput | undefined;
  readonly shards: number;
  readonly queueShards: number;
  readonly concurrency: Readonly<Record<WorkerRole, number>>;
  readonly inbox: boolean;
  readonly metrics: PageAddress | undefined;
  readonly webhooks: { readonly allowPrivate: boolean };
  readonly shutdownMs: number;
  readonly stuckMs: number;
  readonly missingAgentMs: number;
  readonly providerWaitMs: number;
  readonly blockedMs: number;
  readonly signal: AbortSignal | undefined;
  readonly warnings: readonly string[];
}

const { concurrency: JOBS, shutdownMs, stuckMs, missingAgentMs, providerWaitMs, blockedMs } = PROCESS_DEFAULTS;
/** The number of jobs is 0 for roles that this process does not have. */
const jobs = wholeNumber({ ...PROCESS_RANGES.concurrency, least: 0 });

const workersSchema = z.strictObject({
  ...redisOptions,
  roles: boundedList(z.enum(ROLES, { error: `must be one of ${ROLES.join(', ')}` }), 100)
    .min(1, 'expected at least one role in the list')
    .default([...ROLES]),
  concurrency: z
    .strictObject({
      turn: jobs.default(JOBS.turn),
      compaction: jobs.default(JOBS.compaction),
      summarization: jobs.default(JOBS.summarization),
    })
    .default(JOBS),
  inbox: z.boolean().default(false),
  metrics: z
    .strictObject({
      host: z.string().min(1),
      port: wholeNumber(PROCESS_RANGES.port),
      allowedHosts: boundedList(z.string(), 1_000).optional(),
    })
    .optional(),
  webhooks: z.strictObject({ allowPrivate: z.boolean().default(false) }).default({ allowPrivate: false }),
  shutdownMs: wholeNumber(PROCESS_RANGES.shutdownMs).default(shutdownMs),
  stuckMs: wholeNumber(PROCESS_RANGES.stuckMs).default(stuckMs),
  missingAgentMs: wholeNumber(PROCESS_RANGES.missingAgentMs).default(missingAgentMs),
  providerWaitMs: wholeNumber(PROCESS_RANGES.providerWaitMs).default(providerWaitMs),
  blockedMs: wholeNumber(PROCESS_RANGES.blockedMs).default(blockedMs),
  summarizers: boundedList(modelSchema, 1_000).optional(),
  signal: z.instanceof(AbortSignal, { error: 'expected an AbortSignal' }).optional(),
  onEvent: functionSchema.optional(),
  onContent: functionSchema.optional(),
  tracesContent: z.boolean().optional(),
  secrets: boundedList(z.string(), 1_000).optional(),
  agentsModule: z.union([z.string().min(1), z.instanceof(URL)], 'expected a path or a URL of a file').optional(),
  agents: z.unknown().optional(),
  policy: z.unknown().optional(),
  shadow: z.unknown().optional(),
});

/** @throws invalid_config or invalid_policy for an invalid option, agent or policy, with the field */
export function readWorkersOptions(options: WorkersOptions): WorkersSettings {
  const read = parseInput(workersSchema, options, '', 'invalid_config');
  for (const role of read.roles) {
    parseInput(
      wholeNumber(PROCESS_RANGES.concurrency),
      read.concurrency[role],
      `concurrency.${role}`,
      'invalid_config',
    );
  }
  const base = readPolicy(options.policy, 'policy');
  const second = options.shadow === undefined ? undefined : readPolicy(options.shadow, 'shadow');
  const { agents, warnings, problems } = readAgents(options.agents);
  if (problems[0] !== undefined) throw problems[0];
  return {
    // Models and listeners stay the caller's objects, because a copy by the schema would lose their methods.
    ...options,
    redisUrl: read.redisUrl,
    redisTls: read.redisTls,
    prefix: read.prefix,
    agentsModule: read.agentsModule === undefined ? undefined : findModule(read.agentsModule),
    roles: read.roles,
    shards: read.shards,
    queueShards: read.queueShards,
    concurrency: read.concurrency,
    inbox: read.inbox,
    metrics: read.metrics,
    webhooks: read.webhooks,
    shutdownMs: read.shutdownMs,
    stuckMs: read.stuckMs,
    missingAgentMs: read.missingAgentMs,
    providerWaitMs: read.providerWaitMs,
    blockedMs: read.blockedMs,
    signal: read.signal,
    summarizers: options.summarizers ?? [],
    agents,
    policy: base.policy,
    shadow: second?.policy,
    warnings: [
      ...base.warnings.map((warning) => `policy: ${warning}`),
      ...(second?.warnings ?? []).map((warning) => `shadow: ${warning}`),
      ...warnings,
    ],
  };
}

function findModule(given: string | URL): string {
  const url = typeof given === 'string' && !given.startsWith('file:') ? pathToFileURL(given) : new URL(given);
  if (url.protocol === 'file:' && existsSync(url)) return url.href;
  const why = `there is no file ${url.protocol === 'file:' ? fileURLToPath(url) : url.href}`;
  throw fieldError('invalid_config', 'agentsModule', `${why}. Name the module that exports \`agents\``);
}

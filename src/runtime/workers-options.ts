import { z } from 'zod';
import type { Agent } from '../domain/agent.ts';
import type { Model } from '../domain/model.ts';
import { parseInput } from '../domain/parse.ts';
import type { PolicyInput } from '../domain/policy.ts';
import { readPolicy } from '../domain/policy-input.ts';
import { functionSchema, PROCESS_DEFAULTS, PROCESS_RANGES, wholeNumber } from '../domain/process-options.ts';
import { type RedisTls, redisOptions } from '../redis/address.ts';
import { modelSchema, readAgents } from './agent-schema.ts';
import type { ListenerOptions } from './listeners.ts';

export const ROLES = ['turn', 'compaction', 'summarization'] as const;
export type WorkerRole = (typeof ROLES)[number];

/**
 * Options of `startWorkers`. `redisUrl` and `agents` are required. Without `metrics` no pages are served. Other
 * defaults are those of the command line.
 */
export interface WorkersOptions extends ListenerOptions {
  /** Address of one server, of Sentinels or of a Cluster, with credentials if Redis requires them. */
  readonly redisUrl: string;
  /** Agents whose turns these workers run. */
  readonly agents: readonly Agent[];
  /** TLS settings for `rediss`: a private authority, a client certificate. */
  readonly redisTls?: RedisTls | undefined;
  /** Roles of these workers (all). */
  readonly roles?: readonly WorkerRole[];
  /** Models that policies may name as summarizers, in addition to the agents' models. */
  readonly summarizers?: readonly Model[];
  /** Base policy, overridden by the agents' policies. */
  readonly policy?: PolicyInput;
  /** A complete second policy, measured at every pass and never committed. */
  readonly shadow?: PolicyInput;
  /** Shards of conversations (256), the same for all processes of a database. */
  readonly shards?: number;
  /** Shards of each queue (1), the same for all processes of a database. */
  readonly queueShards?: number;
  /** Jobs at a time in this process by role (50, 10, 10), at least one for each queue shard. */
  readonly concurrency?: Readonly<Partial<Record<WorkerRole, number>>>;
  /** Address of the metrics and health pages. Absent: no pages. */
  readonly metrics?: {
    /** Address that the pages are bound to, such as 127.0.0.1. */
    readonly host: string;
    /** 0 takes any free port. */
    readonly port: number;
  };
  /** How long a close waits for work in flight, in ms (10,000). */
  readonly shutdownMs?: number;
  /** How long a job may wait for a worker with free capacity until the worker is not ready, in ms (60,000). */
  readonly stuckMs?: number;
  /** Ends a start that waits for Redis, with the signal's reason. No effect on started workers. */
  readonly signal?: AbortSignal | undefined;
}

/** Validated options with their defaults. */
export interface WorkersSettings extends ListenerOptions {
  readonly redisUrl: string;
  readonly redisTls: RedisTls | undefined;
  readonly agents: readonly Agent[];
  readonly roles: readonly WorkerRole[];
  readonly summarizers: readonly Model[];
  readonly policy: PolicyInput;
  readonly shadow: PolicyInput | undefined;
  readonly shards: number;
  readonly queueShards: number;
  readonly concurrency: Readonly<Record<WorkerRole, number>>;
  readonly metrics: { readonly host: string; readonly port: number } | undefined;
  readonly shutdownMs: number;
  readonly stuckMs: number;
  readonly signal: AbortSignal | undefined;
  /** Warnings about the policies, e.g. a retired key. */
  readonly warnings: readonly string[];
}

const { concurrency: JOBS, shutdownMs, stuckMs } = PROCESS_DEFAULTS;
/** 0 is allowed for roles that this process does not have. */
const jobs = wholeNumber({ ...PROCESS_RANGES.concurrency, least: 0 });

const workersSchema = z.strictObject({
  ...redisOptions,
  roles: z
    .array(z.enum(ROLES, { error: `must be one of ${ROLES.join(', ')}` }))
    .min(1, 'expected at least one role')
    .default([...ROLES]),
  concurrency: z
    .strictObject({
      turn: jobs.default(JOBS.turn),
      compaction: jobs.default(JOBS.compaction),
      summarization: jobs.default(JOBS.summarization),
    })
    .default(JOBS),
  metrics: z.strictObject({ host: z.string().min(1), port: wholeNumber(PROCESS_RANGES.port) }).optional(),
  shutdownMs: wholeNumber(PROCESS_RANGES.shutdownMs).default(shutdownMs),
  stuckMs: wholeNumber(PROCESS_RANGES.stuckMs).default(stuckMs),
  summarizers: z.array(modelSchema).optional(),
  signal: z.instanceof(AbortSignal, { error: 'expected an AbortSignal' }).optional(),
  onEvent: functionSchema.optional(),
  onContent: functionSchema.optional(),
  tracesContent: z.boolean().optional(),
  secrets: z.array(z.string()).optional(),
  // readAgents and readPolicy validate these.
  agents: z.unknown().optional(),
  policy: z.unknown().optional(),
  shadow: z.unknown().optional(),
});

/** @throws invalid_config, invalid_policy, with the field */
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
    // Listeners and models are passed on as given: a copy of a model would lose its class.
    ...options,
    redisUrl: read.redisUrl,
    redisTls: read.redisTls,
    roles: read.roles,
    shards: read.shards,
    queueShards: read.queueShards,
    concurrency: read.concurrency,
    metrics: read.metrics,
    shutdownMs: read.shutdownMs,
    stuckMs: read.stuckMs,
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

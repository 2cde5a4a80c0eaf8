import { z } from 'zod';
import type { Agent } from '../domain/agent.ts';
import type { Model } from '../domain/model.ts';
import { parseInput } from '../domain/parse.ts';
import type { PolicyInput } from '../domain/policy.ts';
import { readPolicy } from '../domain/policy-input.ts';
import { functionSchema, PROCESS_DEFAULTS, PROCESS_RANGES, wholeNumber } from '../domain/process-options.ts';
import { type RedisTls, redisOptions } from '../redis/address.ts';
import { modelSchema, readAgents } from './agent-schema.ts';
import type { ListeningOptions } from './listening.ts';

export const ROLES = ['turn', 'compaction', 'summarization'] as const;
export type WorkerRole = (typeof ROLES)[number];

/** The first two are needed. Without `metrics` there are no pages; any other that is absent is as the command line has it. */
export interface WorkersOptions extends ListeningOptions {
  /** address of one server, of Sentinels or of a Cluster; with the login where Redis asks for one */
  readonly redisUrl: string;
  /** whose turns these workers answer */
  readonly agents: readonly Agent[];
  /** for `rediss`: an authority of your own, a certificate of ours */
  readonly redisTls?: RedisTls | undefined;
  /** which jobs are taken here (all) */
  readonly roles?: readonly WorkerRole[];
  /** models that policies name as summarizers, besides those of the agents */
  readonly summarizers?: readonly Model[];
  /** what agents' policies are merged over */
  readonly policy?: PolicyInput;
  /** a second policy, whole: measured at every pass that ends here, and never committed */
  readonly shadow?: PolicyInput;
  /** how many shards conversations are spread over: the same for all processes of a database (256) */
  readonly shards?: number;
  /** how many shards each queue has: the same for all processes of a database (1) */
  readonly queueShards?: number;
  /** jobs at a time in this process, by role (50, 10, 10); one of each queue shard at least */
  readonly concurrency?: Readonly<Partial<Record<WorkerRole, number>>>;
  /** absent: no pages for metrics and health; port 0: any free one */
  readonly metrics?: {
    /** the address that the pages are served at */ readonly host: string;
    /** its port; 0 for any that is free */

    readonly port: number;
  };
  /** ms that a close waits for what is under way (10,000) */
  readonly shutdownMs?: number;
  /** ms that work may wait for a worker that could take it, until that one is not ready (60,000) */
  readonly stuckMs?: number;
  /** ends a start that waits for Redis, which fails with its reason then; without effect on workers that have started */
  readonly signal?: AbortSignal | undefined;
}

/** The options with what is absent from them, and policies as the schema has them. */
export interface WorkersSettings extends ListeningOptions {
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
  /** what a person should know of the policies, e.g. a retired key */
  readonly warnings: readonly string[];
}

const { concurrency: JOBS, shutdownMs, stuckMs } = PROCESS_DEFAULTS;
/** Of a role that is not taken here 0 is as good as any. */
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
  // Each has a reader of its own.
  agents: z.unknown().optional(),
  policy: z.unknown().optional(),
  shadow: z.unknown().optional(),
});

/** @throws invalid_config, invalid_policy; with the field */
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
    // Listeners and models as they were given: a copy of a model would have lost what it calls itself by.
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

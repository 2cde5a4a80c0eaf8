import type { Redis } from 'ioredis';
import type { Acknowledged } from '../domain/durability.ts';
import type { OpenCall } from '../domain/history.ts';
import type { ConversationRef } from '../domain/ids.ts';
import type { LogEntry } from '../domain/message.ts';
import { PASS_LIMITS } from '../domain/pass.ts';
import type { IdleTtl } from '../domain/policy.ts';
import type { Version } from '../domain/version.ts';
import { type CreatedAbout, createdArgs } from './about.ts';
import { encodeOpenCall, type Forking, readForking } from './conversation-record.ts';
import { type Keyspace, SCHEMAS } from './keys.ts';
import { encodeLogEntry } from './log.ts';
import { corruptRecord, MAX_SEQ, RecordFields, readTime } from './records.ts';
import { decodeReply, encodePairs, type OtherPayload, type ScriptDefinition } from './script.ts';
import { encodeTexts, type KeptTexts, shownTexts, versionArgs } from './version-record.ts';

/** Agent of a conversation while it is copied as a fork. Real names contain no space. */
const NOBODY = 'nobody yet';

/** ms of the lease of a fork. Each batch renews the lease. A client gives up a batch after less than a second. */
export const FORK_LEASE_MS = 60_000;

/** Source of a fork: a context version, and the log up to `head`. The plan is fixed when the fork begins. */
export interface ForkPlan {
  readonly source: ConversationRef;
  readonly version: number;
  readonly head: number;
}

export type ForkBeginResult =
  | { readonly status: 'copying'; readonly copied: number; readonly plan: ForkPlan }
  | { readonly status: 'done'; readonly plan: ForkPlan }
  | { readonly status: 'exists' }
  | OtherPayload
  | Forking;

export interface ForkBegin extends IdleTtl, CreatedAbout {
  readonly conversation: ConversationRef;
  readonly operation: string;
  readonly agent: string;
  readonly plan: ForkPlan;
}

export const beginForkScript: ScriptDefinition<[begin: ForkBegin], Acknowledged<ForkBeginResult>> = {
  file: 'begin-fork',
  args: ([{ operation, agent, plan, conversationTtl, ...about }]) => ({
    operation,
    schema: SCHEMAS.current,
    agent,
    forkAgent: NOBODY,
    plan: encodePlan(plan),
    leaseMs: FORK_LEASE_MS,
    ttl: conversationTtl,
    ...createdArgs(about),
  }),
  decode: (reply, [{ conversation }], keyspace) => {
    const key = keyspace.key(conversation, 'c');
    return decodeReply<ForkBeginResult>(reply, {
      copying: (copied: number, plan: string) => ({ copied, plan: decodePlan(plan, key) }),
      done: (_copied: number, plan: string) => ({ plan: decodePlan(plan, key) }),
      forking: readForking,
    });
  },
};

function encodePlan({ source, version, head }: ForkPlan): string {
  return [version, head, source.tenant, source.id].join(' ');
}

function decodePlan(text: string, key: string): ForkPlan {
  const [, version, head, tenant = '', id = ''] = PLAN.exec(text) ?? [];
  if (version === undefined || Number(head) > MAX_SEQ)
    throw corruptRecord(key, 'forking', 'the value is not a valid plan of a fork');
  return { source: { tenant, id }, version: Number(version), head: Number(head) };
}

const PLAN = /^(\d{1,15}) (\d{1,15}) (\S+) (\S+)$/;

/** Binds a read of the copy's lease. A fork renews the lease with each batch that it copies. */
export function bindIsForkAbandoned(redis: Redis, keyspace: Keyspace) {
  return async (conversation: ConversationRef): Promise<boolean> => {
    const key = keyspace.key(conversation, 'c');
    const reading = RecordFields.pick(redis, key, ['forking', 'forkUntil']);
    const [fields, now] = await Promise.all([reading, readTime(redis)]);
    return fields.has('forking') && (fields.count('forkUntil') ?? 0) <= now;
  };
}

/** The caller's fork has already ended, or its conversation was erased. */
export type ForkLost = { readonly status: 'superseded' | 'gone' };

export interface ForkBatch {
  /**
   * Last seq of the copy that the caller expects. If the log has another length, nothing is written, and the answer is
   * that length.
   */
  readonly expectedHead: number;
  readonly entries: readonly LogEntry[];
  /** `opens`: calls without a result among `entries`. `closes`: earlier calls whose results are among `entries`. */
  readonly opens: readonly OpenCall[];
  readonly closes: readonly string[];
  readonly texts: KeptTexts;
}

type CopyResult = { readonly status: 'copied'; readonly head: number } | ForkLost;

export const copyToForkScript: ScriptDefinition<
  [conversation: ConversationRef, operation: string, batch: ForkBatch],
  CopyResult
> = {
  file: 'copy-to-fork',
  args: ([, operation, { expectedHead, texts, opens, closes, entries }]) => ({
    operation,
    leaseMs: FORK_LEASE_MS,
    expected: expectedHead,
    rest: [
      ...encodePairs(encodeTexts(texts)),
      entries.length,
      ...entries.flatMap((entry) => [entry.message.role === 'user' ? 1 : 0, encodeLogEntry(entry)]),
      opens.length,
      ...opens.map(encodeOpenCall),
      closes.length,
      ...closes,
    ],
  }),
  decode: (reply) => decodeReply<CopyResult>(reply, { copied: (head: number) => ({ head }) }),
};

export type ForkEndResult =
  | { readonly status: 'done' }
  /** A failover lost copied entries: the log ends at `head`, before the end of the plan. Nothing was written. */
  | { readonly status: 'incomplete'; readonly head: number }
  | ForkLost;

export const endForkScript: ScriptDefinition<
  [conversation: ConversationRef, operation: string, version: Version],
  Acknowledged<ForkEndResult>
> = {
  file: 'end-fork',
  args: ([, operation, version]) => ({
    operation,
    rest: [...shownTexts(version), ...versionArgs(version, PASS_LIMITS.keepVersions)],
  }),
  decode: (reply) => decodeReply<ForkEndResult>(reply, { incomplete: (head: number) => ({ head }) }),
};

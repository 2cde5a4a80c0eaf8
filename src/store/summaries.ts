import type { Redis } from 'ioredis';
import { z } from 'zod';
import { type ConversationRef, ownerPrefix } from '../domain/ids.ts';
import type { Weight } from '../domain/message.ts';
import { PASS_LIMITS } from '../domain/pass.ts';
import type { TurnUsage } from '../domain/turn.ts';
import { NO_USAGE } from '../domain/usage.ts';
import { type Summary, summarySchema } from '../domain/version.ts';
import type { Keyspace } from './keys.ts';
import { callStore, readRecordJson } from './records.ts';
import { type ScriptDefinition, scriptBinder } from './script.ts';

/**
 * Summaries by the hash of their source, so that no pass pays for the same summary twice. The hash covers the messages,
 * their tokens in the context, and the configured summarizer. Each summary has a key of its own that expires.
 */
export function openSummaryStore(redis: Redis, keyspace: Keyspace) {
  const bind = scriptBinder(redis, keyspace);
  return {
    /** In the order of the hashes. Undefined where nothing is stored. */
    readSummaries: async (
      conversation: ConversationRef,
      hashes: readonly string[],
    ): Promise<(SummaryRecord | undefined)[]> => {
      if (hashes.length === 0) return [];
      const keys = hashes.map((hash) => keyspace.summary(conversation, hash));
      const texts = await callStore(() => redis.mget(...keys));
      return keys.map((key, at) => decodeRecord(texts[at], key));
    },
    claimSummary: bind(claimSummaryScript),
    heartbeatSummary: bind(heartbeatSummaryScript),
    recordSummary: bind(recordSummaryScript),
    releaseSummary: bind(releaseSummaryScript),
    readPart: async (conversation: ConversationRef, key: string): Promise<string | undefined> =>
      (await callStore(() => redis.get(keyspace.summary(conversation, partHash(key))))) ?? undefined,
    recordPart: bind(recordPartScript),
  };
}

export type SummaryStore = ReturnType<typeof openSummaryStore>;

/** A summary, or the result that a range cannot be summarized. */
export type SummaryRecord =
  | {
      readonly status: 'accepted';
      readonly summary: Summary;
      readonly weight: Weight;
    }
  | { readonly status: 'refused'; readonly why: string };

export type SummaryClaim =
  | { readonly status: 'claimed' }
  | { readonly status: 'in_flight' }
  | { readonly status: 'known'; readonly record: SummaryRecord }
  | { readonly status: 'gone' };

const claimSummaryScript: ScriptDefinition<[conversation: ConversationRef, hash: string, owner: string], SummaryClaim> =
  {
    file: 'claim-summary',
    args: ([, hash, owner]) => ({
      hash,
      claim: encodeClaim(owner),
      claimPrefix: CLAIM_PREFIX,
      claimMs: PASS_LIMITS.summaryClaimMs,
    }),
    decode: (reply, [conversation, hash], keyspace) => {
      const answer = reply as ['claimed' | 'in_flight' | 'gone'] | ['known', string];
      if (answer[0] !== 'known') return { status: answer[0] };
      const record = decodeRecord(answer[1], keyspace.summary(conversation, hash));
      return record === undefined ? { status: 'in_flight' } : { status: 'known', record };
    },
  };

const heartbeatSummaryScript: ScriptDefinition<[conversation: ConversationRef, hash: string, owner: string], boolean> =
  {
    file: 'heartbeat-summary',
    args: ([, hash, owner]) => ({ hash, claim: encodeClaim(owner), claimMs: PASS_LIMITS.summaryClaimMs }),
    decode: (reply) => reply === 1,
  };

const releaseSummaryScript: ScriptDefinition<[conversation: ConversationRef, hash: string, owner: string], void> = {
  file: 'release-summary',
  args: ([, hash, owner]) => ({ hash, claim: encodeClaim(owner) }),
  decode: () => undefined,
};

/**
 * - `known`: another text was recorded before, and stays. The usage that came with this text is not added.
 * - `superseded`: neither the claim nor the pass exists any more, e.g. after an erase.
 */
export type SummaryRecorded = 'recorded' | 'known' | 'superseded' | 'gone';

/** Proof that a job may summarize a range, until its claim expires. */
export interface SummaryLease {
  readonly conversation: ConversationRef;
  /** Pass that requested the summary. */
  readonly passId: string;
  readonly hash: string;
  readonly owner: string;
}

export type PaidRecord = SummaryRecord & { readonly usage?: TurnUsage };

const recordSummaryScript: ScriptDefinition<[lease: SummaryLease, record: PaidRecord], SummaryRecorded> = {
  file: 'record-summary',
  args: ([{ hash, owner, passId }, { usage, ...record }]) => ({
    name: hash,
    text: encodeRecord(record),
    ttlMs: record.status === 'accepted' ? PASS_LIMITS.summaryTtlMs : PASS_LIMITS.refusalTtlMs,
    keptPrefix: ACCEPTED_PREFIX,
    hash,
    claim: encodeClaim(owner),
    passId,
    rest: usageArgs(usage),
  }),
  decode: (reply) => reply as SummaryRecorded,
};

function usageArgs({ inputTokens, outputTokens, cachedTokens = 0, costMicros = 0 }: TurnUsage = NO_USAGE): number[] {
  return [inputTokens, outputTokens, cachedTokens, costMicros];
}

/** Empty prefix, which matches every existing record, so that the first text of a part is never replaced. */
const ANY_PREFIX = '';

/** Name under which a part of a summary is stored. Names of whole summaries are hexadecimal, so they never collide. */
function partHash(key: string): string {
  return `part:${key}`;
}

const recordPartScript: ScriptDefinition<
  [lease: SummaryLease, key: string, text: string, usage?: TurnUsage],
  SummaryRecorded
> = {
  file: 'record-summary',
  args: ([{ hash, owner, passId }, key, text, usage]) => ({
    name: partHash(key),
    text,
    ttlMs: PASS_LIMITS.summaryTtlMs,
    keptPrefix: ANY_PREFIX,
    hash,
    claim: encodeClaim(owner),
    passId,
    rest: usageArgs(usage),
  }),
  decode: (reply) => reply as SummaryRecorded,
};

/** Scripts distinguish claims and records by their first characters, without parsing JSON. */
const CLAIM_PREFIX = '{"status":"claimed"';
const ACCEPTED_PREFIX = '{"status":"accepted"';

function encodeClaim(owner: string): string {
  return JSON.stringify({ status: 'claimed', owner });
}

/** First characters of the claims of all jobs of a worker. */
export function claimsOf(worker: string): string {
  return JSON.stringify({ status: 'claimed', owner: ownerPrefix(worker) }).slice(0, -2);
}

function encodeRecord(record: SummaryRecord): string {
  const { status, ...rest } = record;
  return JSON.stringify({ status, ...rest });
}

const weightSchema = z.object({ tokens: z.number().nonnegative(), bytes: z.number().nonnegative() });
const recordSchema: z.ZodType<SummaryRecord> = z.discriminatedUnion('status', [
  z.object({ status: z.literal('accepted'), summary: summarySchema, weight: weightSchema }),
  z.object({ status: z.literal('refused'), why: z.string() }),
]);

/** Decodes a stored summary. Undefined for a missing text or for a claim. */
function decodeRecord(text: string | null | undefined, key: string): SummaryRecord | undefined {
  if (text === null || text === undefined || text.startsWith(CLAIM_PREFIX)) return undefined;
  return readRecordJson({ key, field: '' }, text, recordSchema);
}

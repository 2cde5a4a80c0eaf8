import type { Redis } from 'ioredis';
import { z } from 'zod';
import { type ConversationRef, ownerPrefix } from '../domain/ids.ts';
import type { Weight } from '../domain/message.ts';
import { PASS_LIMITS } from '../domain/pass.ts';
import type { TurnUsage } from '../domain/turn.ts';
import { type Summary, summarySchema } from '../domain/version.ts';
import type { Keyspace } from './keys.ts';
import { callStore, readRecordJson } from './records.ts';
import { type ScriptDefinition, scriptBinder } from './script.ts';

/**
 * Opens the store of summaries in Redis, by the hash of their source, so that no compaction pass pays for the same summary
 * twice. The hash covers the range of messages, its tokens in the context, and the configured summarizer. Each summary has
 * a key of its own that expires.
 */
export function openSummaryStore(redis: Redis, keyspace: Keyspace) {
  const bind = scriptBinder(redis, keyspace);
  return {
    /** Reads the stored results for these hashes, in the same order. Undefined where nothing is stored. */
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

type ClaimReply = ['claimed' | 'in_flight' | 'gone'] | ['known', string];

/** A finished summary, or the result that a range cannot be summarized. */
export type SummaryRecord =
  | {
      readonly status: 'accepted';
      readonly summary: Summary;
      readonly weight: Weight;
    }
  | { readonly status: 'refused'; readonly why: string };

export type SummaryClaim =
  | { readonly status: 'claimed' }
  /** Another job is summarizing the same messages. */
  | { readonly status: 'in_flight' }
  | { readonly status: 'known'; readonly record: SummaryRecord }
  | { readonly status: 'gone' };

/** Claims the right to summarize a range for 8 s, unless another job has claimed it. */
const claimSummaryScript: ScriptDefinition<[conversation: ConversationRef, hash: string, owner: string], SummaryClaim> =
  {
    file: 'claim-summary',
    args: ([, hash, owner]) => [hash, encodeClaim(owner), CLAIM_PREFIX, PASS_LIMITS.summaryClaimMs],
    decode: (reply, [conversation, hash], keyspace) => {
      const answer = reply as ClaimReply;
      if (answer[0] !== 'known') return { status: answer[0] };
      const record = decodeRecord(answer[1], keyspace.summary(conversation, hash));
      return record === undefined ? { status: 'in_flight' } : { status: 'known', record };
    },
  };

/** Renews a claim on a range. Call it every 2 s. Returns false if the claim is lost. */
const heartbeatSummaryScript: ScriptDefinition<[conversation: ConversationRef, hash: string, owner: string], boolean> =
  {
    file: 'heartbeat-summary',
    args: ([, hash, owner]) => [hash, encodeClaim(owner), PASS_LIMITS.summaryClaimMs],
    decode: (reply) => reply === 1,
  };

const releaseSummaryScript: ScriptDefinition<[conversation: ConversationRef, hash: string, owner: string], void> = {
  file: 'release-summary',
  args: ([, hash, owner]) => [hash, encodeClaim(owner)],
  decode: () => undefined,
};

/**
 * `superseded`: neither the claim nor the compaction pass exists any more, e.g. because the conversation was erased.
 */
export type SummaryRecorded = 'recorded' | 'superseded' | 'gone';

/** Proof that a job may summarize a range, until its claim expires. */
export interface SummaryLease {
  readonly conversation: ConversationRef;
  /** Compaction pass that requested the summary. */
  readonly passId: string;
  readonly hash: string;
  readonly owner: string;
}

/** The result of a job, with what its model calls used. */
export type PaidRecord = SummaryRecord & { readonly usage?: TurnUsage };

/**
 * Stores the result of a job: a summary for 7 days, a refusal for 1 day. The first stored summary is never replaced.
 * A job whose claim expired may still store its result while its compaction pass is the latest, because the result is
 * paid for. The usage is added to the sums of the conversation and its tenant, once.
 */
const recordSummaryScript: ScriptDefinition<[lease: SummaryLease, record: PaidRecord], SummaryRecorded> = {
  file: 'record-summary',
  args: ([{ hash, owner, passId }, { usage, ...record }]) => [
    hash,
    encodeRecord(record),
    record.status === 'accepted' ? PASS_LIMITS.summaryTtlMs : PASS_LIMITS.refusalTtlMs,
    ACCEPTED_PREFIX,
    hash,
    encodeClaim(owner),
    passId,
    usage?.inputTokens ?? 0,
    usage?.outputTokens ?? 0,
    usage?.cachedTokens ?? 0,
    usage?.costMicros ?? 0,
  ],
  decode: (reply) => reply as SummaryRecorded,
};

/** An empty prefix matches every existing record, so the first recorded text of a part is never replaced. */
const ANY_PREFIX = '';

/** Key suffix under which a part of a summary is stored. Summaries use hexadecimal hashes, so the names cannot collide. */
function partHash(key: string): string {
  return `part:${key}`;
}

/**
 * Stores a finished part of a summary for 7 days, under the same conditions as a whole summary. The first value of a
 * key is never replaced.
 */
const recordPartScript: ScriptDefinition<[lease: SummaryLease, key: string, text: string], SummaryRecorded> = {
  file: 'record-summary',
  args: ([{ hash, owner, passId }, key, text]) => [
    partHash(key),
    text,
    PASS_LIMITS.summaryTtlMs,
    ANY_PREFIX,
    hash,
    encodeClaim(owner),
    passId,
  ],
  decode: (reply) => reply as SummaryRecorded,
};

/** First characters of claims and of records, so that scripts can tell them apart without parsing JSON. */
const CLAIM_PREFIX = '{"status":"claimed"';
const ACCEPTED_PREFIX = '{"status":"accepted"';

/** Encodes a worker's claim on a summary. All claims of one owner have the same text. */
function encodeClaim(owner: string): string {
  return JSON.stringify({ status: 'claimed', owner });
}

/** First characters of the claims of a worker. */
export function claimsOf(worker: string): string {
  return JSON.stringify({ status: 'claimed', owner: ownerPrefix(worker) }).slice(0, -2);
}

/** Encodes a summary or a refusal as JSON, with its status first. */
function encodeRecord(record: SummaryRecord): string {
  const { status, ...rest } = record;
  return JSON.stringify({ status, ...rest });
}

const weightSchema = z.object({ tokens: z.number().nonnegative(), bytes: z.number().nonnegative() });
const recordSchema: z.ZodType<SummaryRecord> = z.discriminatedUnion('status', [
  z.object({ status: z.literal('accepted'), summary: summarySchema, weight: weightSchema }),
  z.object({ status: z.literal('refused'), why: z.string() }),
]);

/**
 * Decodes a summary or a refusal. Returns undefined for a missing text or for a claim.
 * @param key name of the key, for errors
 */
function decodeRecord(text: string | null | undefined, key: string): SummaryRecord | undefined {
  if (text === null || text === undefined || text.startsWith(CLAIM_PREFIX)) return undefined;
  return readRecordJson({ key, field: '' }, text, recordSchema);
}

import type { Redis } from 'ioredis';
import { z } from 'zod';
import { ownerPrefix } from '../domain/ids.ts';
import { PASS_LIMITS } from '../domain/pass.ts';
import type { SummaryRecord, SummaryRecorded, SummaryStore } from '../domain/ports/summary-store.ts';
import { summarySchema } from '../domain/version.ts';
import type { Keyspace } from './keys.ts';
import { callStore, readJson } from './records.ts';
import { type ScriptOf, scriptBinder } from './script.ts';

/** Opens the store of summaries in Redis. Each summary has a key of its own that expires. */
export function openSummaryStore(redis: Redis, keyspace: Keyspace): SummaryStore {
  const bind = scriptBinder(redis, keyspace);
  return {
    readSummaries: async (conversation, hashes) => {
      if (hashes.length === 0) return [];
      const keys = hashes.map((hash) => keyspace.summary(conversation, hash));
      const texts = await callStore(() => redis.mget(...keys));
      return keys.map((key, at) => decodeRecord(texts[at], key));
    },
    claimSummary: bind(claimSummaryScript),
    heartbeatSummary: bind(heartbeatSummaryScript),
    recordSummary: bind(recordSummaryScript),
    releaseSummary: bind(releaseSummaryScript),
    readPart: async (conversation, key) =>
      (await callStore(() => redis.get(keyspace.summary(conversation, partHash(key))))) ?? undefined,
    recordPart: bind(recordPartScript),
  };
}

type ClaimReply = ['claimed' | 'in_flight' | 'gone'] | ['known', string];

const claimSummaryScript: ScriptOf<SummaryStore['claimSummary']> = {
  file: 'claim-summary',
  args: ([, hash, owner]) => [hash, encodeClaim(owner), CLAIM_PREFIX, PASS_LIMITS.summaryClaimMs],
  decode: (reply, [conversation, hash], keyspace) => {
    const answer = reply as ClaimReply;
    if (answer[0] !== 'known') return { status: answer[0] };
    const record = decodeRecord(answer[1], keyspace.summary(conversation, hash));
    return record === undefined ? { status: 'in_flight' } : { status: 'known', record };
  },
};

const heartbeatSummaryScript: ScriptOf<SummaryStore['heartbeatSummary']> = {
  file: 'heartbeat-summary',
  args: ([, hash, owner]) => [hash, encodeClaim(owner), PASS_LIMITS.summaryClaimMs],
  decode: (reply) => reply === 1,
};

const releaseSummaryScript: ScriptOf<SummaryStore['releaseSummary']> = {
  file: 'release-summary',
  args: ([, hash, owner]) => [hash, encodeClaim(owner)],
  decode: () => undefined,
};

const recordSummaryScript: ScriptOf<SummaryStore['recordSummary']> = {
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

const recordPartScript: ScriptOf<SummaryStore['recordPart']> = {
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
  return readJson({ key, field: '' }, text, recordSchema);
}

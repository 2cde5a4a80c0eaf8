import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { ConversationRef } from '../domain/ids.ts';
import { PASS_LIMITS } from '../domain/pass.ts';
import type {
  SummaryClaim,
  SummaryLease,
  SummaryRecord,
  SummaryRecorded,
  SummaryStore,
} from '../domain/ports/summary-store.ts';
import { summarySchema } from '../domain/version.ts';
import type { Keyspace } from './keys.ts';
import { callStore, readJson } from './records.ts';
import { bindScript, type ScriptDefinition } from './script.ts';

/** Summaries in Redis, each in an expiring key of its own. */
export function openSummaryStore(redis: Redis, keyspace: Keyspace): SummaryStore {
  const claim = bindScript(redis, claimSummary(keyspace));
  const heartbeat = bindScript(redis, heartbeatSummary(keyspace));
  const record = bindScript(redis, recordSummary(keyspace));
  const release = bindScript(redis, releaseSummary(keyspace));
  const keepPart = bindScript(redis, recordPart(keyspace));
  return {
    readSummaries: async (conversation, hashes) => {
      if (hashes.length === 0) return [];
      const keys = hashes.map((hash) => keyspace.summary(conversation, hash));
      const texts = await callStore(() => redis.mget(...keys));
      return keys.map((key, at) => decodeRecord(texts[at], key));
    },
    claimSummary: (conversation, hash, owner) => claim({ conversation, hash, owner }),
    heartbeatSummary: (conversation, hash, owner) => heartbeat({ conversation, hash, owner }),
    recordSummary: (lease, summary) => record({ lease, record: summary }),
    releaseSummary: async (conversation, hash, owner) => {
      await release({ conversation, hash, owner });
    },
    readPart: async (conversation, key) =>
      (await callStore(() => redis.get(keyspace.summary(conversation, partHash(key))))) ?? undefined,
    recordPart: (lease, key, text) => keepPart({ lease, key, text }),
  };
}

type Reply = ['claimed' | 'in_flight' | 'gone'] | ['known', string];

function claimSummary(keyspace: Keyspace): ScriptDefinition<SummaryOwner, SummaryClaim> {
  return {
    file: 'claim-summary',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ hash, owner }) => [hash, encodeClaim(owner), CLAIM_PREFIX, PASS_LIMITS.summaryClaimMs],
    decode: (reply, { conversation, hash }) => {
      const answer = reply as Reply;
      if (answer[0] !== 'known') return { status: answer[0] };
      const record = decodeRecord(answer[1], keyspace.summary(conversation, hash));
      return record === undefined ? { status: 'in_flight' } : { status: 'known', record };
    },
  };
}

function heartbeatSummary(keyspace: Keyspace): ScriptDefinition<SummaryOwner, boolean> {
  return {
    file: 'heartbeat-summary',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ hash, owner }) => [hash, encodeClaim(owner), PASS_LIMITS.summaryClaimMs],
    decode: (reply) => reply === 1,
  };
}

function releaseSummary(keyspace: Keyspace): ScriptDefinition<SummaryOwner, boolean> {
  return {
    file: 'release-summary',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ hash, owner }) => [hash, encodeClaim(owner)],
    decode: (reply) => reply === 1,
  };
}

interface RecordRequest {
  readonly lease: SummaryLease;
  readonly record: SummaryRecord;
}

function recordSummary(keyspace: Keyspace): ScriptDefinition<RecordRequest, SummaryRecorded> {
  return {
    file: 'record-summary',
    keys: ({ lease }) => keyspace.conversation(lease.conversation),
    args: ({ lease, record }) => [
      lease.hash,
      encodeRecord(record),
      record.status === 'accepted' ? PASS_LIMITS.summaryTtlMs : PASS_LIMITS.refusalTtlMs,
      ACCEPTED_PREFIX,
      ...summaryLeaseArgs(lease),
    ],
    decode: (reply) => reply as SummaryRecorded,
  };
}

/** Claim and pass of a job at work, for `lua/record-summary.lua`. */
function summaryLeaseArgs({ hash, owner, passId }: SummaryLease): string[] {
  return [hash, encodeClaim(owner), passId];
}

interface PartRequest {
  readonly lease: SummaryLease;
  readonly key: string;
  readonly text: string;
}

/** Prefix of every text: an existing part stays. */
const ANY_PREFIX = '';

/** Name of a part beside the summaries, whose names are hexadecimal. */
function partHash(key: string): string {
  return `part:${key}`;
}

function recordPart(keyspace: Keyspace): ScriptDefinition<PartRequest, SummaryRecorded> {
  return {
    file: 'record-summary',
    keys: ({ lease }) => keyspace.conversation(lease.conversation),
    args: ({ lease, key, text }) => [
      partHash(key),
      text,
      PASS_LIMITS.summaryTtlMs,
      ANY_PREFIX,
      ...summaryLeaseArgs(lease),
    ],
    decode: (reply) => reply as SummaryRecorded,
  };
}

export interface SummaryOwner {
  readonly conversation: ConversationRef;
  readonly hash: string;
  readonly owner: string;
}

/** Prefixes of claims and records, so that scripts need not parse JSON. */
const CLAIM_PREFIX = '{"status":"claimed"';
const ACCEPTED_PREFIX = '{"status":"accepted"';

/** Encodes a claim. The claims of one owner are equal texts. */
function encodeClaim(owner: string): string {
  return JSON.stringify({ status: 'claimed', owner });
}

/** Encodes a record with its status first. */
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
 * Decodes a record. Returns undefined for a missing text or a claim.
 * @param key name of the key, for errors
 */
function decodeRecord(text: string | null | undefined, key: string): SummaryRecord | undefined {
  if (text === null || text === undefined || text.startsWith(CLAIM_PREFIX)) return undefined;
  return readJson({ key, field: '' }, text, recordSchema);
}

import { isDeepStrictEqual } from 'node:util';
import type { ConversationRef } from '../domain/ids.ts';
import { PASS_LIMITS } from '../domain/pass.ts';
import type { SummaryLease, SummaryStore } from '../domain/ports/summary-store.ts';
import type { MemoryDatabase, MemorySummary } from './database.ts';
import { addSpending } from './mailbox.ts';

/** Opens the store of summaries in memory. The contract tests in test/store run against this store and against Redis. */
export function openMemorySummaryStore(db: MemoryDatabase): SummaryStore {
  const find = (ref: ConversationRef, hash: string) => findSummary(db, ref, hash);
  return {
    readSummaries: async (ref, hashes) =>
      hashes.map((hash) => {
        const found = find(ref, hash);
        return found?.kind === 'record' ? structuredClone(found.record) : undefined;
      }),
    claimSummary: async (ref, hash, owner) => {
      if (db.isGone(ref)) return { status: 'gone' };
      const found = find(ref, hash);
      if (found?.kind === 'record') return { status: 'known', record: structuredClone(found.record) };
      if (found !== undefined) return { status: isOwn(found, owner) ? 'claimed' : 'in_flight' };
      const until = db.now() + PASS_LIMITS.summaryClaimMs;
      db.find(ref)?.summaryRecords.set(hash, { kind: 'claim', owner, until });
      return { status: 'claimed' };
    },
    heartbeatSummary: async (ref, hash, owner) => {
      const found = find(ref, hash);
      if (db.isGone(ref) || found === undefined || !isOwn(found, owner)) return false;
      found.until = db.now() + PASS_LIMITS.summaryClaimMs;
      return true;
    },
    recordSummary: async (lease, { usage, ...record }) => {
      const { conversation: ref, hash } = lease;
      const loss = findLoss(db, lease);
      if (loss !== undefined) return loss;
      const found = find(ref, hash);
      if (found?.kind === 'record' && (found.record.status === 'accepted' || isDeepStrictEqual(found.record, record)))
        return 'recorded';
      const ttlMs = record.status === 'accepted' ? PASS_LIMITS.summaryTtlMs : PASS_LIMITS.refusalTtlMs;
      const kept = { kind: 'record', record: structuredClone(record), until: db.now() + ttlMs } as const;
      const conversation = db.find(ref);
      conversation?.summaryRecords.set(hash, kept);
      if (conversation !== undefined && usage !== undefined) addSpending(db, conversation, usage);
      return 'recorded';
    },
    releaseSummary: async (ref, hash, owner) => {
      if (isOwn(find(ref, hash), owner)) db.find(ref)?.summaryRecords.delete(hash);
    },
    readPart: async (ref, key) => {
      const found = find(ref, `part:${key}`);
      return found?.kind === 'part' ? found.text : undefined;
    },
    recordPart: async (lease, key, text) => {
      const { conversation: ref } = lease;
      const loss = findLoss(db, lease);
      if (loss !== undefined) return loss;
      if (find(ref, `part:${key}`) !== undefined) return 'recorded';
      const until = db.now() + PASS_LIMITS.summaryTtlMs;
      db.find(ref)?.summaryRecords.set(`part:${key}`, { kind: 'part', text, until });
      return 'recorded';
    },
  };
}

function isOwn(summary: MemorySummary | undefined, owner: string): boolean {
  return summary?.kind === 'claim' && summary.owner === owner;
}

function findSummary(db: MemoryDatabase, ref: ConversationRef, hash: string): MemorySummary | undefined {
  const found = db.find(ref)?.summaryRecords.get(hash);
  return found !== undefined && found.until > db.now() ? found : undefined;
}

/** Returns the reason why a job must not record its summary, or undefined, as `lua/record-summary.lua` does. */
function findLoss(
  db: MemoryDatabase,
  { conversation: ref, passId, hash, owner }: SummaryLease,
): 'superseded' | 'gone' | undefined {
  if (db.isGone(ref)) return 'gone';
  const { pass, lastEnd } = db.find(ref) ?? {};
  const isOfPass = pass?.passId === passId || lastEnd?.passId === passId;
  return isOfPass || isOwn(findSummary(db, ref, hash), owner) ? undefined : 'superseded';
}

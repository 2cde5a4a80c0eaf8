import type { Redis } from 'ioredis';
import type { SummaryStore } from '../../domain/ports/summary-store.ts';
import { callStore } from '../corrupt-record.ts';
import type { Keyspace } from '../keys.ts';
import { bindScript } from '../script.ts';
import { claimSummary } from './claim.ts';
import { heartbeatSummary } from './heartbeat.ts';
import { recordSummary } from './record.ts';
import { partHash, recordPart } from './record-part.ts';
import { releaseSummary } from './release.ts';
import { decodeRecord } from './summary-text.ts';

/** Summaries in Redis, each under a key of its own that expires by itself. */
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

import { choosePackable, isWorthPacking, PACK_AFTER_MS } from '../domain/log-packing.ts';
import type { PackedLog, PackStore } from '../domain/ports/pack-store.ts';
import { START_VERSION } from '../domain/version.ts';
import type { MemoryConversation, MemoryDatabase } from './database.ts';

const MOST_TAKEN = 4;
const RETRY_MS = 600_000;

/** Records that log entries may be packed at this time, as `lua/shared/unpacked.lua` does in Redis. An earlier time stays. */
export function schedulePacking(db: MemoryDatabase, { ref }: MemoryConversation, at: number): void {
  const name = `${ref.tenant}|${ref.id}`;
  db.unpacked.set(name, Math.min(at, db.unpacked.get(name) ?? Number.POSITIVE_INFINITY));
}

/**
 * Schedules the packing of a conversation for the time when it is idle, if its log has enough entries. In Redis,
 * `has_enough_to_pack` of `lua/shared/conversation.lua` decides this.
 */
export function scheduleIdlePacking(db: MemoryDatabase, conversation: MemoryConversation): void {
  const { log, packed } = conversation;
  const entries = log.length - 1 - packed.reduce((sum, { from, to }) => sum + to - from + 1, 0);
  if (!isWorthPacking({ entries, bytes: log.at(-1)?.total.bytes ?? 0 })) return;
  schedulePacking(db, conversation, db.now() + PACK_AFTER_MS);
}

/** Packs log entries in memory, as one shard: notes which entries would be packed. Their bytes stay as they are. */
export function openMemoryPackStore(db: MemoryDatabase): PackStore {
  return {
    takeUnpacked: async () => {
      const due = [...db.unpacked].filter(([, at]) => at <= db.now()).toSorted(([, a], [, b]) => a - b);
      return due.slice(0, MOST_TAKEN).map(([name]) => {
        db.unpacked.set(name, db.now() + RETRY_MS);
        const [tenant = '', id = ''] = name.split('|');
        return { tenant, id };
      });
    },
    packLog: async (ref) => {
      const conversation = db.find(ref);
      db.unpacked.delete(`${ref.tenant}|${ref.id}`);
      if (conversation === undefined) return { entries: 0, bytes: 0, packedBytes: 0 };
      const idleInMs = findIdleIn(db, conversation);
      if (idleInMs > 0) schedulePacking(db, conversation, db.now() + idleInMs);
      return packEntries(conversation, idleInMs === 0);
    },
  };
}

/** Milliseconds until the conversation is idle if it stays unused, as `lua/inspect-log.lua` computes in Redis. */
function findIdleIn(db: MemoryDatabase, { mailbox, pass, fork, log, createdAt }: MemoryConversation): number {
  const isCopied = fork?.isOpen === true && fork.until > db.now();
  if (mailbox.length > 0 || pass !== undefined || isCopied) return PACK_AFTER_MS;
  return Math.max(0, Math.max(log.at(-1)?.at ?? 0, createdAt) + PACK_AFTER_MS - db.now());
}

function packEntries(conversation: MemoryConversation, isIdle: boolean): PackedLog {
  const { log, versions, version, packed, mailbox, turnRecords } = conversation;
  const live = versions.get(version) ?? START_VERSION;
  const inputSeq = turnRecords.get(mailbox[0] ?? '')?.inputSeq ?? 0;
  const chosen = choosePackable({ version: live, head: log.length, isIdle, inputSeq, packed });
  const entries = chosen.flatMap(({ from, to }) => log.slice(from - 1, to));
  const bytes = entries.reduce((sum, { message }) => sum + JSON.stringify(message).length, 0);
  const size = { entries: entries.length, bytes };
  if (!isWorthPacking(size)) return { entries: 0, bytes: 0, packedBytes: 0 };
  conversation.packed = [...packed, ...chosen];
  return { ...size, packedBytes: bytes };
}

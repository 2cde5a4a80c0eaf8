import type { Redis } from 'ioredis';
import type { ContextStore } from '../../domain/ports/context-store.ts';
import { decodeConversation } from '../conversation-record.ts';
import { callStore } from '../corrupt-record.ts';
import type { Keyspace } from '../keys.ts';
import { RecordFields } from '../record-fields.ts';
import { bindScript } from '../script.ts';
import { readSystem } from '../turns/briefing.ts';
import { appendLog } from './append.ts';
import { bindErase, eraseBatch } from './erase.ts';
import { bindReadContext } from './read-context.ts';
import { bindReadLog } from './read-log.ts';
import { listVersionRecords, readVersion } from './versions.ts';

/** Logs, versions and texts in Redis. */
export function openContextStore(redis: Redis, keyspace: Keyspace): ContextStore {
  return {
    readConversation: async (conversation) => {
      const key = keyspace.key(conversation, 'c');
      const values = new Map(Object.entries(await callStore(() => redis.hgetall(key))));
      return values.size === 0 ? undefined : decodeConversation(new RecordFields(key, values));
    },
    readContext: bindReadContext(redis, keyspace),
    readLog: bindReadLog(redis, keyspace),
    readText: async (conversation, hash) =>
      (await callStore(() => redis.hget(keyspace.key(conversation, 'cp'), `x:${hash}`))) ?? undefined,
    readSystem: (conversation) => readSystem(redis, keyspace, conversation),
    append: bindScript(redis, appendLog(keyspace)),
    listVersions: (conversation) => listVersionRecords(redis, keyspace, conversation),
    readVersion: (conversation, number) => readVersion(redis, keyspace, conversation, number),
    erase: bindErase(bindScript(redis, eraseBatch(keyspace))),
  };
}

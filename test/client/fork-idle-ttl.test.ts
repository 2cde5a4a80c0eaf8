import { expect, test } from 'vitest';
import type { ConversationRef } from '../../src/domain/ids.ts';
import type { ContextStore } from '../../src/domain/ports/context-store.ts';
import { MemoryDatabase } from '../../src/memory-store/database.ts';
import { openMemoryStore } from '../../src/memory-store/open-memory-store.ts';
import { claimPass, endOf } from '../store/pass-samples.ts';
import { createMemoryClient } from './memory-client.ts';

const MESSAGES = 450;
const TTL_MS = 1_000;

test('a source with an idle TTL shorter than its copy is not erased during the copy', async () => {
  const db = new MemoryDatabase();
  const store = openMemoryStore(db);
  const source = { tenant: '_', id: 'source' };
  const looks: string[] = [];
  /** Every look at the source takes longer than half of it, and a sweep comes after each. */
  const slow = async <T>(conversation: ConversationRef, read: Promise<T>): Promise<T> => {
    const answer = await read;
    if (conversation.id !== source.id) return answer;
    db.advance(0.6 * TTL_MS);
    looks.push((await store.expire(source, `look ${looks.length}`)).status);
    return answer;
  };
  const contexts: ContextStore = {
    ...store,
    readLog: (conversation, ranges) => slow(conversation, store.readLog(conversation, ranges)),
    listVersions: (conversation) => slow(conversation, store.listVersions(conversation)),
  };
  const client = createMemoryClient(store, { contexts });
  const messages = Array.from({ length: MESSAGES }, (_, at) => ({ role: 'user' as const, content: `message ${at}` }));
  await client.append({ conversation: source.id, agent: 'guide', messages });
  await store.endPass((await claimPass(store, source)).lease, endOf({ conversationTtl: TTL_MS }));
  // Nearly over when the fork begins.
  db.advance(0.9 * TTL_MS);
  expect(await client.fork(source.id, 'copy')).toEqual({ tenant: '_', conversation: 'copy', head: MESSAGES });
  expect(looks).toEqual(['kept', 'kept', 'kept', 'kept']);
});

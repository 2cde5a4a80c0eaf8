import { expect, test } from 'vitest';
import type { VersionStore } from '../../src/domain/ports/version-store.ts';
import { MemoryDatabase } from '../../src/memory-store/database.ts';
import { openMemoryStore } from '../../src/memory-store/open-memory-store.ts';
import { createMemoryClient } from './memory-client.ts';

const MESSAGES = 450;

test('a fork that lost batches in a failover copies them again before it opens', async () => {
  const db = new MemoryDatabase();
  const store = openMemoryStore(db);
  const ends: number[] = [];
  const endFork: VersionStore['endFork'] = async (conversation, ...rest) => {
    const { log = [] } = db.find(conversation) ?? {};
    ends.push(log.length);
    // A failover, to a replica that is two batches behind.
    if (ends.length === 1) log.splice(100);
    return await store.endFork(conversation, ...rest);
  };
  const client = createMemoryClient(store, { versions: { ...store, endFork } });
  const messages = Array.from({ length: MESSAGES }, (_, at) => ({ role: 'user' as const, content: `message ${at}` }));
  await client.append({ conversation: 'source', agent: 'guide', messages });
  expect(await client.fork('source', 'copy')).toEqual({ tenant: '_', conversation: 'copy', head: MESSAGES });
  expect(ends).toEqual([MESSAGES, MESSAGES]);
  expect(await client.log('copy')).toEqual(await client.log('source'));
});

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { keepLastEvidence } from '../../src/compaction/context-evidence.ts';
import { runToEnd } from '../../src/domain/interruptible.ts';
import type { ContextItem } from '../../src/domain/version.ts';
import type { ContextStore } from '../../src/store/contexts.ts';
import { openEmbeddedStore } from '../../src/store/open-embedded-store.ts';
import { eventLoopShare } from '../../src/wire/tokens/event-loop-share.ts';
import { claimPass, commitOf } from '../store/pass-samples.ts';
import { createMemoryClient } from './memory-client.ts';

const agent = 'guide';
const conversation = 'c';

/** Opens a client that counts its reads of the store. */
async function openCounted(change: (store: ContextStore) => Partial<ContextStore> = () => ({})) {
  const { store } = await openEmbeddedStore();
  const reads: string[] = [];
  const counted: ContextStore = {
    ...store,
    readContext: async (...given) => {
      reads.push('context');
      return await store.readContext(...given);
    },
    readShownSummaries: async (...given) => {
      reads.push('summaries');
      return await store.readShownSummaries(...given);
    },
  };
  const contexts = { ...counted, ...change(counted) };
  return { store, reads, client: createMemoryClient(store, { contexts }) };
}

function say(word: string, count = 6) {
  return Array.from({ length: count }, (_, at) => ({
    role: at % 2 === 0 ? ('user' as const) : ('assistant' as const),
    content: `${word} ${at}`,
  }));
}

test('the client shows the new texts of a conversation that another client erased and created again, even of the same size', async () => {
  const { store, client } = await openCounted();
  const other = createMemoryClient(store);
  const startsOf = async () => {
    const { categories } = await client.breakdown(conversation);
    await client.plan(conversation);
    return categories.flatMap(({ largest }) => largest.map(({ start }) => start.split(' ')[0]));
  };
  await client.append({ conversation, agent, messages: say('red') });
  expect(new Set(await startsOf())).toEqual(new Set(['red']));
  await other.erase(conversation);
  await other.append({ conversation, agent, messages: say('dog') });
  expect(new Set(await startsOf())).toEqual(new Set(['dog']));
});

test('simultaneous calls of the inspecting methods share one read of the context, and a later call needs no read', async () => {
  const { client, reads } = await openCounted();
  await client.append({ conversation, agent, messages: say('red') });
  await Promise.all([client.breakdown(conversation), client.plan(conversation)]);
  expect(reads).toEqual(['context']);
  await client.plan(conversation);
  expect(reads).toEqual(['context']);
});

test('an erase removes a context from the cache, even if the context is read during the erase', async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  const { promise: isReading, resolve: begin } = Promise.withResolvers<void>();
  let isHeld = true;
  const { client, store, reads } = await openCounted((inner) => ({
    readContext: async (...given) => {
      const source = await inner.readContext(...given);
      begin();
      if (isHeld) await gate;
      return source;
    },
    // A store that answers as if the erase had not happened shows what the caches still hold.
    erase: async () => ({ removedKeys: 0 }),
  }));
  await store.append({
    conversation: { tenant: '_', id: conversation },
    operation: 'o',
    agent,
    expectedHead: 0,
    messages: say('red').map((message) => ({ message, tokens: 5, bytes: 20 })),
    opens: [],
    closes: [],
  });
  const planned = client.plan(conversation);
  await isReading;
  await client.erase(conversation);
  isHeld = false;
  open();
  await planned;
  await client.plan(conversation);
  expect(reads).toEqual(['context', 'context']);
  await client.erase(conversation);
  await client.plan(conversation);
  expect(reads).toEqual(['context', 'context', 'context']);
});

test('several reports with a search text read the summaries of a version only once', async () => {
  const { client, store, reads } = await openCounted();
  await client.append({ conversation, agent, messages: say('red', 8) });
  const { lease } = await claimPass(store, { tenant: '_', id: conversation });
  expect(await store.commitVersion(lease, commitOf(0, 4))).toEqual({ status: 'ended' });
  for (const find of ['summary', 'red', undefined]) await client.report(conversation, 1, find ? { find } : {});
  expect(reads).toEqual(['summaries']);
});

test('breakdown parses the reasoning of each message once, and later calls parse only new messages', async () => {
  let parsed = 0;
  const { client } = await openCounted((inner) => ({
    readContext: async (...given) => {
      const source = await inner.readContext(...given);
      const entries = source?.entries.map((entry) => {
        const items = [{ type: 'thinking', thinking: 'deep', signature: 's' }];
        const raw = {
          format: 'anthropic',
          model: 'm',
          get items() {
            parsed += 1;
            return items;
          },
        };
        return { ...entry, message: { ...entry.message, ...(entry.message.role === 'assistant' && { raw }) } };
      });
      return source && { ...source, entries: entries ?? [] };
    },
  }));
  await client.append({ conversation, agent, messages: say('red') });
  const { categories } = await client.breakdown(conversation);
  expect(categories.find(({ name }) => name === 'reasoning')).toMatchObject({ count: 3, tokens: 3 });
  const once = parsed;
  await client.append({ conversation, agent, messages: say('red', 2) });
  await client.breakdown(conversation);
  expect([once, parsed]).toEqual([3, 3]);
});

test('the cache keeps the evidence of a context no longer than the context itself', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const readEvidence = keepLastEvidence();
  const read = async (items: readonly ContextItem[]) => {
    const evidence = await eventLoopShare.run(readEvidence(items));
    expect(runToEnd(readEvidence(items))).toBe(evidence);
    return new WeakRef(evidence);
  };
  const evidence = await read(
    say('red').map((message, at) => ({ from: at + 1, to: at + 1, message, tokens: 5, bytes: 20 })),
  );
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();
  expect(evidence.deref()).toBeUndefined();
});

import { expect, test } from 'vitest';
import { readWork } from '../../src/api/client/work-done.ts';
import type { SeqRange } from '../../src/domain/version.ts';
import { openEmbeddedStore } from '../../src/store/open-embedded-store.ts';
import { createMemoryClient } from './memory-client.ts';

const agent = 'coder';
const conversation = 'c';
const ref = { tenant: '_', id: conversation };

/** Opens a client that lists the ranges of the log that it reads. */
async function openCounted() {
  const { store } = await openEmbeddedStore();
  const ranges: SeqRange[] = [];
  const contexts: typeof store = {
    ...store,
    readLog: async (...given) => {
      ranges.push(...given[1]);
      return await store.readLog(...given);
    },
  };
  return { store, ranges, contexts, client: createMemoryClient(store, { contexts }) };
}

function edits(first: number, count: number, result = 'done') {
  return Array.from({ length: count }, (_, at) => {
    const id = `c${first + at}`;
    const given = { path: `src/part-${first + at}.ts`, text: 'x' };
    return [
      { role: 'assistant' as const, content: '', toolCalls: [{ id, name: 'edit', arguments: JSON.stringify(given) }] },
      { role: 'tool' as const, content: result, toolCallId: id },
    ];
  }).flat();
}

test('a second call of workDone reads only the messages since the first, and a third without new messages reads none', async () => {
  const { client, ranges } = await openCounted();
  await client.append({ conversation, agent, messages: edits(0, 3) });
  expect(await client.workDone(conversation)).toMatchObject({ head: 6, files: { count: 3 } });
  await client.append({ conversation, agent, messages: edits(3, 2) });
  ranges.length = 0;
  const both = await Promise.all([client.workDone(conversation), client.workDone(conversation)]);
  expect(both).toMatchObject([
    { from: 1, head: 10, files: { count: 5 } },
    { from: 1, head: 10, files: { count: 5 } },
  ]);
  await client.workDone(conversation);
  expect(ranges).toEqual([{ from: 7, to: 10 }]);
});

test('workDone shows nothing of a conversation that another client erased and created again', async () => {
  const { client, store } = await openCounted();
  const other = createMemoryClient(store);
  await client.append({ conversation, agent, messages: edits(0, 2) });
  await client.workDone(conversation);
  await other.erase(conversation);
  await other.append({ conversation, agent, messages: [...edits(5, 1), { role: 'user', content: 'Go on.' }] });
  const { files } = await client.workDone(conversation);
  expect(files.last.map(({ path }) => path)).toEqual(['src/part-5.ts']);
  await client.erase(conversation);
  await expect(client.workDone(conversation)).rejects.toMatchObject({ code: 'not_found', field: 'conversation' });
});

test('workDone reads only the newest messages of a longer log, and says where it began', async () => {
  const { client, contexts } = await openCounted();
  await client.append({ conversation, agent, messages: edits(0, 20, 'x'.repeat(1_000)) });
  const log = await client.describe(conversation);
  const byCount = await readWork(contexts, ref, log, { limits: { messages: 10, bytes: 1_000_000 } });
  expect(byCount.show()).toMatchObject({ from: 31, head: 40, files: { count: 5 } });
  const bySize = (await readWork(contexts, ref, log, { limits: { messages: 1_000, bytes: 6_000 } })).show();
  const shown = (await client.log(conversation)).filter(({ seq }) => seq >= bySize.from);
  expect(shown.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(6_000);
  const [before] = await client.log(conversation, { after: bySize.from - 2, limit: 1 });
  expect(shown.reduce((sum, { bytes }) => sum + bytes, before?.bytes ?? 0)).toBeGreaterThan(6_000);
});

test('workDone reads a log again from its start if the log lost its end and has another one', async () => {
  const { client, store, contexts } = await openCounted();
  await client.append({ conversation, agent, messages: edits(0, 3) });
  const known = await readWork(contexts, ref, await client.describe(conversation));
  await createMemoryClient(store).erase(conversation);
  await client.append({ conversation, agent, messages: edits(7, 1, 'another result') });
  const shorter = await readWork(contexts, ref, await client.describe(conversation), { known });
  expect(shorter.show()).toMatchObject({ head: 2, files: { count: 1 } });
  await client.append({ conversation, agent, messages: edits(8, 3) });
  const other = await readWork(contexts, ref, await client.describe(conversation), { known });
  expect(other.show()).toMatchObject({ head: 8, files: { count: 4 } });
});

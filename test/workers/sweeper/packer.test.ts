import { expect, test } from 'vitest';
import { TurnfoldError } from '../../../src/domain/errors.ts';
import type { WorkerEvent } from '../../../src/domain/events.ts';
import type { PackStore } from '../../../src/store/pack-store.ts';
import { packDueLogs } from '../../../src/workers/sweeper/packer.ts';

const ids = ['a', 'b', 'c'];
const packed = { entries: 9, bytes: 900, packedBytes: 300 };

interface Run {
  readonly events: WorkerEvent[];
  readonly asked: string[];
}

async function run(packs: Partial<PackStore>, stop = new AbortController()): Promise<Run> {
  const events: WorkerEvent[] = [];
  const asked: string[] = [];
  await packDueLogs({
    packs: {
      takeUnpacked: async () => ids.map((id) => ({ tenant: '_', id })),
      ...packs,
      packLog: async (conversation) => {
        asked.push(conversation.id);
        return await (packs.packLog ?? (async () => packed))(conversation);
      },
    },
    shutdown: { begun: stop.signal },
    onEvent: (event) => events.push(event),
  });
  return { events, asked };
}

test('the packer packs and reports each due log, and reports nothing for a log without entries to pack', async () => {
  const { events, asked } = await run({ packLog: async ({ id }) => (id === 'b' ? { ...packed, entries: 0 } : packed) });
  expect(asked).toEqual(ids);
  expect(events).toEqual(
    ['a', 'c'].map((conversation) => ({ type: 'log_packed', tenant: '_', conversation, ...packed })),
  );
});

test('the packer reports a log that cannot be packed, and packs the next logs', async () => {
  const error = new TurnfoldError('corrupt_record', 'x: the value cannot be read.');
  const { events, asked } = await run({
    packLog: ({ id }) => (id === 'a' ? Promise.reject(error) : Promise.resolve({ ...packed, entries: 0 })),
  });
  expect(asked).toEqual(ids);
  expect(events).toEqual([{ type: 'worker_failed', where: 'packing', tenant: '_', conversation: 'a', error }]);
});

test('the packer reports a failure to list due logs', async () => {
  const error = new Error('away');
  const { events } = await run({ takeUnpacked: () => Promise.reject(error) });
  expect(events).toEqual([{ type: 'worker_failed', where: 'packing', error }]);
});

test('a stopping worker packs no further log, and reports no failure of its closed connection', async () => {
  const stop = new AbortController();
  const { events, asked } = await run(
    {
      packLog: () => {
        stop.abort();
        return Promise.reject(new Error('Connection is closed.'));
      },
    },
    stop,
  );
  expect(asked).toEqual(['a']);
  expect(events).toEqual([]);
});

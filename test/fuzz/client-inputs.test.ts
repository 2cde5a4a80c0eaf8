import { type Arbitrary, array, constantFrom, integer, record, string, tuple } from 'fast-check';
import { expect, test } from 'vitest';
import type { TurnfoldClient } from '../../src/api/contract/client.ts';
import { createMemoryClient } from '../client/memory-client.ts';
import { TestDatabase } from '../store/test-database.ts';
import { badValue, codedError, spoiled, tryBatch } from './cases.ts';

const TIMEOUT_MS = 600_000;

const id = constantFrom('c1', 'c2', 'c3');
const message = record(
  {
    role: constantFrom('user', 'assistant', 'system'),
    content: string(),
    parts: array(record({ type: constantFrom('text', 'odd'), text: string() }), { maxLength: 3 }),
    raw: record({ format: constantFrom('openai-chat'), model: string(), items: array(record({ a: string() })) }),
    toolCalls: array(record({ id: string({ minLength: 1 }), name: string({ minLength: 1 }), arguments: string() }), {
      minLength: 1,
      maxLength: 2,
    }),
    pinned: constantFrom(true, false),
  },
  { requiredKeys: ['role', 'content'] },
);

const turn = record(
  {
    conversation: id,
    agent: constantFrom('a'),
    input: string({ minLength: 1 }),
    turn: id,
    delayMs: integer({ min: 0, max: 1_000 }),
    tenant: constantFrom('_', 'acme'),
    context: record({ user: string(), plan: record({ seats: integer() }) }),
  },
  { requiredKeys: ['conversation', 'agent', 'input'] },
);

/** Valid arguments of each method. */
const ARGUMENTS: Readonly<Partial<Record<keyof TurnfoldClient, Arbitrary<unknown[]>>>> = {
  append: tuple(
    record({ conversation: id, agent: constantFrom('a'), messages: array(message, { minLength: 1, maxLength: 4 }) }),
  ),
  enqueueTurn: tuple(turn),
  enqueueTurns: tuple(array(turn, { maxLength: 4 })),
  answer: tuple(id, id, record({ c1_0: record({ content: string(), isError: constantFrom(true) }) })),
  fork: tuple(id, id, record({ version: integer({ min: 0, max: 1 }), head: integer({ min: 0, max: 3 }) })),
  restore: tuple(id, record({ version: integer({ min: 0, max: 1 }), newer: constantFrom('keep', 'drop') })),
  rollBackTurn: tuple(id, id, record({ operation: id })),
  approve: tuple(id, id, record({ edits: record({ '1-2': string() }) })),
  reject: tuple(id, id, record({ reason: string({ minLength: 1 }) })),
  redrive: tuple(id, id, record({ operation: id, priority: integer({ min: 1, max: 9 }) })),
  result: tuple(id, id, record({ waitMs: constantFrom(0) })),
  context: tuple(id, record({ version: integer({ min: 0, max: 1 }), head: integer({ min: 0, max: 3 }) })),
  openTurns: tuple(id, record({ limit: integer({ min: 1, max: 9 }) })),
  failedTurns: tuple(record({ since: integer({ min: 0 }), limit: integer({ min: 1, max: 9 }) })),
};

async function call(client: TurnfoldClient, method: string, given: unknown): Promise<unknown> {
  return (await Reflect.apply(client[method as keyof TurnfoldClient], client, given as unknown[])) as unknown;
}

async function openWorld() {
  const db = await TestDatabase.open({ now: () => 1_700_000_000_000 });
  const client = createMemoryClient(db.store);
  let served = 0;
  return {
    client,
    dump: () => db.dump(),
    clear: () => db.redis.database.clear(),
    serveNeighbour: async () => {
      served += 1;
      const neighbour = { conversation: 'neighbour', agent: 'a' };
      const { to } = await client.append({ ...neighbour, messages: [{ role: 'user', content: 'hello' }] });
      expect((await client.log('neighbour')).at(-1)?.seq).toBe(to);
    },
    served: () => served,
  };
}

test.each(Object.entries(ARGUMENTS))(
  'client.%s succeeds or fails with a coded error for any arguments, and a failed call writes nothing',
  async (method, valid) => {
    const world = await openWorld();
    await tryBatch({
      cases: 700,
      input: spoiled(valid),
      run: async (given) => {
        const before = world.dump();
        const refused = await codedError(() => call(world.client, method, given));
        if (refused !== undefined) expect(world.dump()).toEqual(before);
        world.clear();
      },
      serveNeighbour: world.serveNeighbour,
    });
    expect(world.served()).toBeGreaterThan(1);
  },
  TIMEOUT_MS,
);

test(
  'client methods given an arbitrary value as conversation name fail with a coded error and write nothing',
  async () => {
    const world = await openWorld();
    await tryBatch({
      cases: 1_000,
      input: badValue(),
      run: async (name) => {
        const before = world.dump();
        for (const method of ['describe', 'log', 'versions', 'compact', 'proposal', 'cancel'] as const) {
          await codedError(() => call(world.client, method, [name, 't1']));
        }
        expect(world.dump()).toEqual(before);
      },
      serveNeighbour: world.serveNeighbour,
    });
  },
  TIMEOUT_MS,
);

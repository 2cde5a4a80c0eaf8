import { type Arbitrary, constantFrom, nat, record } from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isErrorCode } from '../../src/domain/errors.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { codedError, keep, type Make, tryBatch } from './cases.ts';
import { callsOn, makeConversation } from './spoiled-conversation.ts';

const TIMEOUT_MS = 600_000;
const CASES = 400;

/** Unreadable records have an error code of their own. Without that code the rule cannot be checked. */
const KEEPS_RULE = isErrorCode('corrupt_record');

let fixture: Fixture;

beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers();
}, TIMEOUT_MS);

afterAll(() => fixture.close(), TIMEOUT_MS);

const GARBAGE = [
  '',
  ' ',
  'x',
  '-1',
  '1e9',
  'NaN',
  '9'.repeat(400),
  '{"a":',
  '[]',
  'null',
  '{}',
  '0 0 0',
  '\u0000',
  'a|b|c',
  '9e15',
];
const WAYS = ['field', 'field', 'field', 'remove field', 'type', 'remove key', 'member'] as const;

interface Damage {
  readonly way: (typeof WAYS)[number];
  /** Numbers that select a key of the conversation and a field of this key. */
  readonly key: number;
  readonly field: number;
  readonly garbage: string;
}

const damages: Arbitrary<Make<Damage>> = record({
  way: constantFrom(...WAYS),
  key: nat(),
  field: nat(),
  garbage: constantFrom(...GARBAGE),
}).map(keep);

async function spoilRecord(id: string, { way, key: place, field: which, garbage }: Damage): Promise<void> {
  const { redis } = fixture;
  const keys = (await redis.keys(`{tf*}:_:*:${id}*`)).toSorted();
  const key = keys[place % keys.length] ?? '';
  const isHash = (await redis.type(key)) === 'hash';
  const fields = isHash ? (await redis.hkeys(key)).toSorted() : [];
  const field = fields[which % Math.max(1, fields.length)];
  const shard = /^\{tf\d+\}/.exec(key)?.[0] ?? '{tf0}';
  if (way === 'member') await redis.zadd(`${shard}:ready`, 1, garbage);
  else if (way === 'remove key') await redis.del(key);
  else if (way === 'type' || field === undefined) await redis.multi().del(key).set(key, garbage).exec();
  else if (way === 'remove field') await redis.hdel(key, field);
  else await redis.hset(key, field, garbage);
}

test.runIf(KEEPS_RULE)(
  'client calls on a damaged record succeed or fail with a coded error, and other conversations are served',
  async () => {
    const { client } = fixture;
    let made = 0;
    let turns = 0;
    const run = async (given: Damage): Promise<void> => {
      made += 1;
      const id = `damaged-${made}`;
      await makeConversation(fixture, id);
      await spoilRecord(id, given);
      for (const call of callsOn(client, id, `fork-${made}`)) await codedError(call);
    };
    const serveNeighbour = async (): Promise<void> => {
      turns += 1;
      const { turn } = await client.enqueueTurn({
        conversation: 'neighbour',
        agent: 'talker',
        input: `hello ${turns}`,
      });
      const view = await client.result('neighbour', turn, { waitMs: 60_000 });
      expect(view).toMatchObject({ state: 'completed', answer: { content: `heard hello ${turns}` } });
    };
    await tryBatch({ cases: CASES, input: damages, run, serveNeighbour });
    await serveNeighbour();
  },
  TIMEOUT_MS,
);

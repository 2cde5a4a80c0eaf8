import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Agent } from '../../src/domain/agent.ts';
import { DEFAULT_TENANT } from '../../src/domain/ids.ts';
import { listQuarantined } from '../../src/store/inspection.ts';
import { Keyspace } from '../../src/store/keys.ts';
import { agentOf, words } from './agents.ts';
import { eventsOf, eventually, type Fixture, openFixture, type RunningWorkers, SHARDS, settled } from './fixture.ts';

const keyspace = new Keyspace(SHARDS);
let fixture: Fixture;
let workers: RunningWorkers[] = [];

beforeAll(async () => {
  fixture = await openFixture();
});

afterEach(async () => {
  await Promise.all(workers.map((one) => one.close()));
  workers = [];
});

afterAll(() => fixture.close());

const SMALL = { windowTokens: 3_500, outputCapTokens: 500 };

type StartedRole = 'turn' | 'compaction' | 'summarization';

async function start(role: StartedRole, agent: Agent = agentOf({ profile: SMALL, policy: { thresholdRatio: 0.91 } })) {
  const running = await fixture.startWorkers(agent, { roles: [role] });
  workers.push(running);
  return running;
}

const refOf = (id: string) => ({ tenant: DEFAULT_TENANT, id });
const passKeyOf = (id: string): string => keyspace.key(refOf(id), 'pass');

/** Another conversation of the same shard. */
function neighbourOf(id: string): string {
  const shard = keyspace.shardOf(refOf(id));
  for (let number = 0; ; number += 1) {
    const name = `${id}-neighbour-${number}`;
    if (keyspace.shardOf(refOf(name)) === shard) return name;
  }
}

async function appendSequences(conversation: string): Promise<void> {
  const asked = { role: 'user' as const, content: words(10) };
  const said = { role: 'assistant' as const, content: `I will look. ${words(300)}` };
  const part = [asked, said, said];
  await fixture.client.append({
    conversation,
    agent: 'guide',
    messages: [...part, ...part, ...part, ...part, asked, { ...said, content: 'done' }],
  });
}

const enqueue = (conversation: string, turn: string, input = 'and now?') =>
  fixture.client.enqueueTurn({ conversation, turn, agent: 'guide', input });

/** A turn that waits for an unclaimed pass. */
async function makeWait(id: string): Promise<void> {
  const turns = await start('turn');
  await appendSequences(id);
  await enqueue(id, 't1', words(600));
  await eventually(
    () => eventsOf(turns, 'turn_suspended'),
    (suspended) => expect(suspended).toHaveLength(1),
  );
}

/** Set aside and named, by a worker and for the doctor. */
async function expectSetAside(id: string, name: string): Promise<void> {
  const shard = keyspace.shardOf(refOf(id));
  const told = await eventually(
    () => workers.flatMap((one) => eventsOf(one, 'record_quarantined')).filter((event) => event.name === name),
    (events) => expect(events).not.toEqual([]),
  );
  expect(told[0]).toMatchObject({
    shard,
    tenant: DEFAULT_TENANT,
    conversation: id,
    why: expect.stringContaining('corrupt {tf'),
  });
  const listed = await listQuarantined(fixture.redis, keyspace);
  const mine = listed.filter((record) => record.name.endsWith(`|${name}`));
  expect(mine, 'as the doctor reads it').toMatchObject([{ shard, why: told[0]?.why }]);
}

async function expectServed(conversation: string): Promise<void> {
  await enqueue(conversation, 'n1', 'hello');
  expect(await settled(fixture, conversation, 'n1')).toMatchObject({ state: 'completed' });
}

const asField = (field: string, value: string) => (id: string) =>
  fixture.redis.hset(passKeyOf(id), field, value).then(() => undefined);

async function retype(id: string): Promise<void> {
  await fixture.redis.unlink(passKeyOf(id));
  await fixture.redis.set(passKeyOf(id), 'garbage');
}

test.each([
  ['a plan that is not JSON', asField('plan', '{')],
  ['a plan beyond its log', asField('plan', planBeyond())],
  ['reasons that are unknown', asField('reasons', 'whim')],
  ['a count that is no number', asField('attempts', 'x')],
  ['pushes that are no number', asField('sweeps', 'x')],
  ['another type', retype],
])('sets a pass with %s aside, and the waiting turn continues with another pass', async (name, corrupt) => {
  const id = name.replaceAll(' ', '-');
  await makeWait(id);
  await corrupt(id);
  // Without the wake that the queue holds the sweeper finds the pass at once.
  await fixture.redis.zadd(keyspace.ready(keyspace.shardOf(refOf(id))), 1, `p|${DEFAULT_TENANT}|${id}`);
  await Promise.all([start('compaction'), start('summarization')]);
  expect(await settled(fixture, id, 't1')).toMatchObject({ state: 'completed' });
  await expectSetAside(id, passKeyOf(id));
  const versions = await fixture.client.versions(id);
  expect(versions.map(({ strategy }) => strategy)).toContain('summarize');
  await expectServed(neighbourOf(id));
});

function planBeyond(): string {
  const evict = [{ from: 1, to: 9e15 }];
  const plan = {
    kind: 'evict',
    reasons: ['ratio'],
    version: 0,
    head: 3,
    tokens: 1,
    sequences: [],
    evict,
    explained: [],
  };
  return JSON.stringify(plan);
}

test('sets a pass with a corrupt proposal aside, and the conversation continues', async () => {
  const id = 'proposal';
  const reviewed = agentOf({ policy: { mode: 'review', messageThreshold: 14, retentionWindow: 2 } });
  const compaction = await start('compaction', reviewed);
  await Promise.all([start('summarization', reviewed), start('turn', reviewed)]);
  await appendSequences(id);
  await eventually(
    () => eventsOf(compaction, 'pass_proposed'),
    (proposed) => expect(proposed).toHaveLength(1),
  );
  const late = { proposal: '[]', parkedUntil: 1, expiresAt: 1 };
  await fixture.redis.hset(passKeyOf(id), late);
  await fixture.redis.zadd(keyspace.ready(keyspace.shardOf(refOf(id))), 1, `p|${DEFAULT_TENANT}|${id}`);
  await expectSetAside(id, passKeyOf(id));
  await expectServed(id);
});

test.each([
  ['garbage', (key: string) => fixture.redis.set(key, '{"status":"accepted"}', 'KEEPTTL')],
  ['another type', (key: string) => fixture.redis.unlink(key).then(() => fixture.redis.rpush(key, 'x'))],
])('sets summaries that are %s aside, and writes them again', async (name, corrupt) => {
  const id = `summaries-${name.replaceAll(' ', '-')}`;
  await makeWait(id);
  await start('compaction');
  const summarization = await start('summarization');
  expect(await settled(fixture, id, 't1')).toMatchObject({ state: 'completed' });
  const written = eventsOf(summarization, 'summary_ended').filter(({ outcome }) => outcome === 'written');
  const keys = await fixture.redis.keys(`${keyspace.summary(refOf(id), '')}*`);
  expect(keys).toHaveLength(written.length);
  for (const key of keys) await corrupt(key);
  await fixture.client.restore(id, { version: 0, newer: 'keep' });
  await fixture.client.compact(id);
  await eventually(
    () => eventsOf(summarization, 'summary_ended').filter(({ outcome }) => outcome === 'written'),
    (again) => expect(again).toHaveLength(2 * written.length),
  );
  for (const key of keys) await expectSetAside(id, key);
  await expectServed(id);
});

test('sets turn and pass of a corrupt summary aside, without effect on others', async () => {
  const id = 'summary';
  await makeWait(id);
  await Promise.all([start('compaction'), start('summarization')]);
  expect(await settled(fixture, id, 't1')).toMatchObject({ state: 'completed' });
  const texts = keyspace.key(refOf(id), 'txt');
  for (const field of await fixture.redis.hkeys(texts)) await fixture.redis.hset(texts, field, '{');
  await fixture.client.compact(id);
  await enqueue(id, 't2');
  await expectSetAside(id, `p|${DEFAULT_TENANT}|${id}`);
  await expectSetAside(id, `t|${DEFAULT_TENANT}|${id}`);
  await expectServed(neighbourOf(id));
});

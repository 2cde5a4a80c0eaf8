import { afterAll, afterEach, expect, test } from 'vitest';
import type { Agent } from '../../src/domain/agent.ts';
import { DEFAULT_TENANT } from '../../src/domain/ids.ts';
import { Keyspace } from '../../src/store/keys.ts';
import { listQuarantined } from '../../src/store/quarantine.ts';
import { agentOf, words } from './agents.ts';
import { eventsOf, eventually, openFixture, type RunningWorkers, SHARDS, settled } from './fixture.ts';

const keyspace = new Keyspace(SHARDS);
const fixture = await openFixture();
let workers: RunningWorkers[] = [];

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

/** A turn that waits for an unclaimed pass. */
async function makeWait(id: string): Promise<void> {
  const turns = await start('turn');
  await fixture.appendSequences(id);
  await fixture.enqueue(id, 't1', words(600));
  await eventually(
    () => eventsOf(turns, 'turn_suspended'),
    (suspended) => expect(suspended).toHaveLength(1),
  );
}

/** Expects that a worker reported the record as set aside, and that the doctor lists it. */
async function expectSetAside(id: string, name: string): Promise<void> {
  const shard = keyspace.shardOf(refOf(id));
  const reported = await eventually(
    () => workers.flatMap((one) => eventsOf(one, 'record_quarantined')).filter((event) => event.name === name),
    (events) => expect(events).not.toEqual([]),
  );
  expect(reported[0]).toMatchObject({
    shard,
    tenant: DEFAULT_TENANT,
    conversation: id,
    why: expect.stringContaining('corrupt {tf'),
  });
  const listed = await listQuarantined(fixture.redis, keyspace);
  const mine = listed.filter((record) => record.name.endsWith(`|${name}`));
  // Two workers may find the same record corrupt, and the doctor lists the later report.
  expect(mine, 'as the doctor reads it').toMatchObject([{ shard }]);
  await eventually(
    () => workers.flatMap((one) => eventsOf(one, 'record_quarantined')).map(({ why }) => why),
    (whys) => expect(whys).toContain(mine[0]?.why),
  );
}

async function expectServed(conversation: string): Promise<void> {
  await fixture.enqueue(conversation, 'n1', 'hello');
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
  ['a plan beyond its log', asField('plan', planBeyond('evict'))],
  ['a plan that shortens beyond its log', asField('plan', planBeyond('shorten'))],
  ['unknown reasons', asField('reasons', 'whim')],
  ['attempts that are no number', asField('attempts', 'x')],
  ['sweeps that are no number', asField('sweeps', 'x')],
  ['another Redis type', retype],
])(
  'workers quarantine a compaction pass with %s, and the waiting turn continues after another pass',
  async (name, corrupt) => {
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
  },
);

function planBeyond(field: 'evict' | 'shorten'): string {
  const beyond = [{ from: 1, to: 9e15 }];
  const plan = {
    kind: 'evict',
    reasons: ['ratio'],
    version: 0,
    head: 3,
    tokens: 1,
    sequences: [],
    evict: [],
    explained: [],
    [field]: beyond,
  };
  return JSON.stringify(plan);
}

test('workers quarantine a compaction pass with a corrupt proposal, and the conversation continues', async () => {
  const id = 'proposal';
  const reviewed = agentOf({ policy: { mode: 'review', messageThreshold: 14, retentionWindow: 2 } });
  const compaction = await start('compaction', reviewed);
  await Promise.all([start('summarization', reviewed), start('turn', reviewed)]);
  await fixture.appendSequences(id);
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
  ['another Redis type', (key: string) => fixture.redis.unlink(key).then(() => fixture.redis.rpush(key, 'x'))],
])('workers quarantine stored summaries that are %s, and write them again', async (name, corrupt) => {
  const id = `summaries-${name.replaceAll(' ', '-')}`;
  await fixture.appendSequences(id);
  const agent = agentOf({ profile: SMALL, policy: { tokenThreshold: 2_700, maxTokens: 900 } });
  // Asked for before a worker runs, so that the first pass summarizes everything and not what the thresholds ask for.
  await fixture.client.compact(id);
  const roles = ['summarization', 'compaction', 'turn'] as const;
  const [summarization] = await Promise.all(roles.map((role) => start(role, agent)));
  await eventually(
    () => fixture.client.versions(id),
    (versions) => expect(versions).toHaveLength(1),
  );
  const keys = await fixture.redis.keys(`${keyspace.summary(refOf(id), '')}*`);
  expect(keys).not.toEqual([]);
  for (const key of keys) await corrupt(key);
  await fixture.client.restore(id, { version: 0, newer: 'keep' });
  await fixture.client.compact(id);
  await eventually(
    () => eventsOf(summarization as RunningWorkers, 'summary_ended').filter(({ outcome }) => outcome === 'written'),
    (written) => expect(written).toHaveLength(2 * keys.length),
  );
  for (const key of keys) await expectSetAside(id, key);
  await expectServed(id);
});

test('a corrupt summary puts only the turn and the compaction pass of its own conversation into quarantine', async () => {
  const id = 'summary';
  await makeWait(id);
  await Promise.all([start('compaction'), start('summarization')]);
  expect(await settled(fixture, id, 't1')).toMatchObject({ state: 'completed' });
  const texts = keyspace.key(refOf(id), 'txt');
  for (const field of await fixture.redis.hkeys(texts)) await fixture.redis.hset(texts, field, '{');
  await fixture.client.compact(id);
  await fixture.enqueue(id, 't2', 'and now?');
  await expectSetAside(id, `p|${DEFAULT_TENANT}|${id}`);
  await expectSetAside(id, `t|${DEFAULT_TENANT}|${id}`);
  await expectServed(neighbourOf(id));
});

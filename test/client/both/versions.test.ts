import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { hashPayload } from '../../../src/api/client/payload-hash.ts';
import { nameOperation } from '../../../src/domain/ids.ts';
import { Keyspace } from '../../../src/store/keys.ts';
import { compact, createTalker, type Fixture, makeVersions, openFixture, SHARDS, talk } from '../fixture.ts';

const agent = 'talker';
const gate = Promise.withResolvers<void>();

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([{ ...createTalker(gate.promise), policy: { retentionWindow: 2, maxTokens: 2_000 } }]);
});
afterAll(() => fixture.close());

async function contents(conversation: string, at?: { version?: number; head?: number }): Promise<string[]> {
  const { items } = await fixture.client.context(conversation, at);
  return items.map(({ message }) => JSON.stringify(message));
}

async function ask(conversation: string, input: string, turn?: string): Promise<string | undefined> {
  const enqueued = await fixture.client.enqueueTurn({ conversation, agent, input, ...(turn && { turn }) });
  return (await fixture.client.result(conversation, enqueued.turn, { waitMs: 60_000 })).answer?.content;
}

test('a requested compaction of a context within maxTokens ends with the outcome none, and makes no version', async () => {
  const conversation = 'small';
  const messages = [{ role: 'user' as const, content: 'hello' }];
  await fixture.client.append({ conversation, agent, messages });
  await compact(fixture, conversation);
  const outcomes: unknown[] = [];
  for await (const event of fixture.client.events(conversation, { after: '0', waitMs: 0 })) {
    if (event.type === 'pass_ended') outcomes.push(event.outcome);
  }
  expect(outcomes).toEqual(['none']);
  expect(await fixture.client.versions(conversation)).toEqual([]);
});

describe('restore', () => {
  test('restore makes an old version of the context live, followed by the newer messages, and the next turn uses it', async () => {
    const conversation = 'kept';
    await makeVersions(fixture, conversation);
    const expected = await contents(conversation, { version: 1, head: 49 });
    const version = await fixture.client.restore(conversation, { version: 1, newer: 'keep' });
    expect(version).toMatchObject({ number: 3, parent: 2, cause: 'restore', base: 49, archived: 0 });
    expect(version.tokensAfter).toBeGreaterThan(version.tokensBefore);
    expect(await contents(conversation)).toStrictEqual(expected);
    const { backoff } = await fixture.client.describe(conversation);
    expect(backoff.noGainBelowTokens).toBe(Math.ceil(version.tokensAfter * 1.15));
    expect(await ask(conversation, 'hello')).toBe('heard hello');
  });

  test('restore with `drop` removes newer messages from the context but not from the log', async () => {
    const conversation = 'dropped';
    await makeVersions(fixture, conversation);
    const expected = await contents(conversation, { version: 1, head: 24 });
    const version = await fixture.client.restore(conversation, { version: 1, newer: 'drop' });
    expect(version.tokensAfter).toBeLessThan(version.tokensBefore);
    expect(version.archived).toBeGreaterThan(0);
    expect(await contents(conversation)).toStrictEqual(expected);
    expect(await fixture.client.log(conversation)).toHaveLength(49);
    expect(await ask(conversation, 'hello')).toBe('heard hello');

    const back = await fixture.client.restore(conversation, { version: 2, newer: 'keep' });
    expect(back.number).toBeGreaterThan(3);
    expect((await contents(conversation)).at(-1)).toContain('heard hello');
  });

  test('restore repeated under its operation id returns the same version', async () => {
    const conversation = 'again';
    await makeVersions(fixture, conversation);
    const input = { version: 1, newer: 'keep', operation: 'once' } as const;
    const version = await fixture.client.restore(conversation, input);
    expect(await fixture.client.restore(conversation, input)).toStrictEqual(version);
    expect(await fixture.client.versions(conversation)).toHaveLength(3);
  });

  test('restore refuses a context above the limit hardTokens, and the error contains its token count', async () => {
    const conversation = 'large';
    await makeVersions(fixture, conversation);
    const whole = { version: 0, newer: 'keep' } as const;
    await expect(fixture.client.restore(conversation, { ...whole, hardTokens: 5_000 })).rejects.toMatchObject({
      code: 'over_hard_limit',
      details: { sum: expect.stringMatching(/^messages \d+ \+ .* >= hard limit 5000$/) as unknown },
    });
    expect(await fixture.client.versions(conversation)).toHaveLength(2);
    const made = await fixture.client.restore(conversation, { ...whole, hardTokens: 50_000 });
    expect(made.segments).toMatchObject([{ kind: 'raw', from: 1, to: 49 }]);
  });

  test('restore, fork, show and diff fail with version_gone if a version or one of its texts is no longer stored', async () => {
    const conversation = 'gone';
    await makeVersions(fixture, conversation);
    const keys = new Keyspace(SHARDS);
    const ref = { tenant: '_', id: conversation };
    const restore = (version: number) => fixture.client.restore(conversation, { version, newer: 'keep' });
    const cp = keys.key(ref, 'txt');
    const texts = await fixture.redis.hgetall(cp);
    await fixture.redis.unlink(cp);
    await expect(restore(1)).rejects.toMatchObject({ code: 'version_gone', field: 'version' });
    await expect(fixture.client.fork(conversation, 'gone-2')).rejects.toMatchObject({ code: 'version_gone' });
    await fixture.redis.hset(cp, texts);
    await fixture.redis.hdel(keys.key(ref, 'ver'), '1');
    await expect(restore(1)).rejects.toMatchObject({ code: 'version_gone', field: 'version' });
    await expect(fixture.client.show(conversation, 1)).rejects.toMatchObject({
      code: 'version_gone',
      field: 'version',
    });
    await expect(fixture.client.diff(conversation, 0, 1)).rejects.toMatchObject({
      code: 'version_gone',
      field: 'after',
    });
    await expect(restore(7)).rejects.toMatchObject({ code: 'not_found', field: 'version' });
    await expect(fixture.client.restore('nobody', { version: 0, newer: 'keep' })).rejects.toMatchObject({
      code: 'not_found',
      field: 'conversation',
    });
    await expect(fixture.client.restore(conversation, { version: 1, newer: 'some' as 'keep' })).rejects.toMatchObject({
      code: 'invalid_input',
      field: 'newer',
    });
  });
});

describe('rollBackTurn', () => {
  test('rollBackTurn restores the context from before a turn and drops later turns', async () => {
    const conversation = 'rolled';
    await makeVersions(fixture, conversation);
    await ask(conversation, 'one');
    const before = await contents(conversation);
    await ask(conversation, 'two', 'second');
    await ask(conversation, 'three');
    const version = await fixture.client.rollBackTurn(conversation, 'second');
    expect(version).toMatchObject({ cause: 'rollback', archived: 4 });
    expect(await contents(conversation)).toStrictEqual(before);
    expect(await fixture.client.log(conversation)).toHaveLength(55);
    expect(await ask(conversation, 'four')).toBe('heard four');
  });

  test('rollBackTurn restores the version from before a turn, even after a later compaction', async () => {
    const conversation = 'compacted';
    await fixture.client.append({ conversation, agent, messages: talk(2) });
    await ask(conversation, 'one', 'first');
    await fixture.client.append({ conversation, agent, messages: talk(6, 3) });
    await compact(fixture, conversation);
    const version = await fixture.client.rollBackTurn(conversation, 'first');
    expect(version.segments).toMatchObject([
      { kind: 'raw', from: 1, to: 6 },
      { kind: 'evicted', from: 7, to: 26 },
    ]);
    expect(await contents(conversation)).toStrictEqual(await contents(conversation, { version: 0, head: 6 }));
  });

  test('rollBackTurn refuses a running turn, a turn that never began and an unknown turn', async () => {
    const conversation = 'running';
    const { client } = fixture;
    const running = await client.enqueueTurn({ conversation, agent, input: 'hold' });
    const waiting = await client.enqueueTurn({ conversation, agent, input: 'next', turn: 'next' });
    await vi.waitFor(
      async () => expect((await client.result(conversation, running.turn)).state).toBe('running'),
      60_000,
    );
    await expect(client.rollBackTurn(conversation, running.turn)).rejects.toMatchObject({ code: 'turn_running' });
    await client.cancel(conversation, waiting.turn);
    await expect(client.rollBackTurn(conversation, 'next')).rejects.toMatchObject({ code: 'conflict', field: 'turn' });
    await expect(client.rollBackTurn(conversation, 'none')).rejects.toMatchObject({ code: 'not_found', field: 'turn' });
    await expect(client.restore(conversation, { version: 0, newer: 'keep' })).rejects.toMatchObject({
      code: 'conversation_busy',
    });
    gate.resolve();
    await client.result(conversation, running.turn, { waitMs: 60_000 });
    expect((await client.rollBackTurn(conversation, running.turn)).archived).toBe(2);
    expect(await contents(conversation)).toStrictEqual([]);
  });
});

describe('fork', () => {
  test('fork copies a conversation, and both continue independently', async () => {
    await makeVersions(fixture, 'trunk');
    expect(await fixture.client.fork('trunk', 'branch')).toStrictEqual({
      tenant: '_',
      conversation: 'branch',
      head: 49,
    });
    expect(await contents('branch')).toStrictEqual(await contents('trunk'));
    expect(await fixture.client.log('branch')).toStrictEqual(await fixture.client.log('trunk'));
    expect(await fixture.client.versions('branch')).toMatchObject([{ number: 1, cause: 'fork', base: 48 }]);
    expect(await ask('branch', 'hello')).toBe('heard hello');
    expect((await fixture.client.describe('trunk')).head).toBe(49);
    await compact(fixture, 'branch');
  });

  test('fork copies an old version up to an old message, and refuses message numbers that the version does not cover', async () => {
    await makeVersions(fixture, 'tree');
    await fixture.client.fork('tree', 'leaf-1', { version: 1, head: 30 });
    expect(await contents('leaf-1')).toStrictEqual(await contents('tree', { version: 1, head: 30 }));
    await fixture.client.fork('tree', 'leaf-2', { head: 24 });
    expect(await contents('leaf-2')).toStrictEqual(await contents('tree', { version: 1, head: 24 }));
    await fixture.client.fork('tree', 'leaf-3', { version: 0 });
    expect(await contents('leaf-3')).toHaveLength(49);
    const refusals = [
      [
        { version: 2, head: 30 },
        { code: 'invalid_input', field: 'head' },
      ],
      [{ head: 50 }, { code: 'invalid_input', field: 'head' }],
      [{ version: 9 }, { code: 'not_found', field: 'version' }],
    ] as const;
    for (const [at, refusal] of refusals) {
      await expect(fixture.client.fork('tree', 'leaf-4', at)).rejects.toMatchObject(refusal);
    }
    await expect(fixture.client.fork('tree', 'leaf-1')).rejects.toMatchObject({ code: 'conflict', field: 'to' });
    await expect(fixture.client.fork('nobody', 'leaf-4')).rejects.toMatchObject({ code: 'not_found' });
  });

  test('fork resumes an interrupted copy of 2,099 messages with an open call, and the copy accepts no turns until it is complete', async () => {
    const calls = Array.from({ length: 700 }, (_, index) => [
      { role: 'user' as const, content: `q ${index}` },
      { role: 'assistant' as const, content: '', toolCalls: [{ id: 'x', name: 'echo', arguments: '{}' }] },
      { role: 'tool' as const, content: 'done', toolCallId: 'x' },
    ]).flat();
    await fixture.client.append({ conversation: 'long', agent, messages: calls.slice(0, -1) });
    const keys = new Keyspace(SHARDS);
    // The state that a fork leaves if its process dies after the first batch.
    const ref = { tenant: '_', id: 'cut' };
    const entries = await fixture.redis.hmget(keys.key({ tenant: '_', id: 'long' }, 'log'), '1', '2', '3');
    await fixture.redis.hset(keys.key(ref, 'log'), { 1: entries[0], 2: entries[1], 3: entries[2] });
    const total = await fixture.client.log('long');
    await fixture.redis.hset(keys.key(ref, 'c'), {
      schema: 1,
      agent: 'nobody yet',
      forkAgent: agent,
      forkUntil: Date.now() + 60_000,
      head: 3,
      headTokens: total[2]?.total.tokens,
      headBytes: total[2]?.total.bytes,
      turns: 1,
      forking: `${nameOperation('op-1', hashPayload(['fork', { tenant: '_', id: 'long' }, {}]))} 0 2099 _ long`,
    });
    const refused = fixture.client.enqueueTurn({ conversation: 'cut', agent, input: 'hello' });
    await expect(refused).rejects.toMatchObject({ code: 'conversation_forking' });
    await expect(fixture.client.compact('cut')).rejects.toMatchObject({ code: 'conversation_forking' });
    await expect(fixture.client.append({ conversation: 'cut', agent, messages: talk(1) })).rejects.toMatchObject({
      code: 'conversation_forking',
    });
    const stolen = fixture.client.fork('long', 'cut', { operation: 'op-2' });
    await expect(stolen).rejects.toMatchObject({ code: 'conversation_forking', field: 'to' });
    await expect(fixture.client.fork('cut', 'half')).rejects.toMatchObject({
      code: 'conversation_forking',
      field: 'from',
    });
    await fixture.redis.hset(keys.key(ref, 'c'), 'forkUntil', 1);
    const late = fixture.client.enqueueTurn({ conversation: 'cut', agent, input: 'hello' });
    await expect(late).rejects.toMatchObject({
      code: 'fork_abandoned',
      field: 'conversation',
      message: expect.stringContaining('Call fork again'),
    });
    await expect(fixture.client.fork('cut', 'half')).rejects.toMatchObject({ code: 'fork_abandoned', field: 'from' });
    const done = { tenant: '_', conversation: 'cut', head: 2_099 };
    expect(await fixture.client.fork('long', 'cut', { operation: 'op-1' })).toStrictEqual(done);
    expect(await fixture.client.fork('long', 'cut', { operation: 'op-1' })).toStrictEqual(done);
    expect(await fixture.client.log('cut')).toStrictEqual(total);
    const [copy, original] = [await fixture.client.describe('cut'), await fixture.client.describe('long')];
    expect(copy.openCalls).toStrictEqual(original.openCalls);
    expect(copy.openCalls).toHaveLength(1);
    expect([copy.turns, copy.size.headTotal]).toStrictEqual([original.turns, original.size.headTotal]);
    expect(await ask('cut', 'hello')).toBe('heard hello');
    const again = await fixture.client.fork('long', 'cut', { operation: 'op-1' });
    expect(again, 'as it was made').toStrictEqual(done);
  });
});

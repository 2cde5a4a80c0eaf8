import { afterAll, beforeAll, expect, test } from 'vitest';
import { routes } from '../../src/api/http/routes.ts';
import { createTalker, talk } from '../client/fixture.ts';
import { type HttpFixture, openHttpFixture, outline } from './fixture.ts';

let http: HttpFixture;
beforeAll(async () => {
  http = await openHttpFixture();
  const policy = { mode: 'review', messageThreshold: 14, retentionWindow: 2 } as const;
  await http.startWorkers([createTalker(), { ...createTalker(), name: 'reviewed', policy }]);
});
afterAll(() => http.close());

interface Repeatable {
  readonly path: string;
  readonly body: unknown;
  /** Bodies that ask for something else. */
  readonly others: readonly unknown[];
}

const conversations = '/v1/conversations';
const message = { role: 'user', content: 'hello' };

async function settle(conversation: string, agent: string): Promise<string> {
  await http.client.enqueueTurn({ conversation, agent, input: 'one', turn: 't1' });
  await http.client.result(conversation, 't1', { waitMs: 30_000 });
  return `${conversations}/${conversation}/turns/t1`;
}

async function fill(conversation: string): Promise<string> {
  await http.client.append({ conversation, agent: 'talker', messages: talk(8) });
  return `${conversations}/${conversation}`;
}

async function propose(conversation: string): Promise<string> {
  await http.client.append({ conversation, agent: 'reviewed', messages: talk(8) });
  await expect.poll(() => http.client.proposal(conversation), { timeout: 30_000 }).toBeDefined();
  return `${conversations}/${conversation}/proposals/${(await http.client.proposal(conversation))?.proposal}`;
}

const repeatable: Readonly<Record<string, () => Promise<Repeatable>>> = {
  enqueueTurn: async () => {
    const body = { agent: 'talker', input: 'hello', context: { a: 1, b: 2 } };
    const others = [
      { ...body, input: 'other' },
      { ...body, context: { a: 1 } },
      { ...body, priority: 1 },
      { ...body, delayMs: 60_000 },
      { ...body, maxTurnTokens: 10_000 },
    ];
    return { path: `${conversations}/turns/turns`, body, others };
  },
  append: async () => {
    const body = { agent: 'talker', messages: [message] };
    const others = [
      { ...body, messages: [message, { role: 'assistant', content: 'yes' }] },
      { ...body, messages: [{ ...message, pinned: true }] },
      { ...body, expectedHead: 0 },
    ];
    return { path: `${conversations}/messages/messages`, body, others };
  },
  rollBackTurn: async () => {
    const path = `${await settle('rollback', 'talker')}/rollback`;
    return { path, body: {}, others: [{ hardTokens: 30_000 }] };
  },
  redrive: async () => {
    const path = `${await settle('redrive', 'nobody')}/redrive`;
    return { path, body: { context: { a: 1 } }, others: [{ context: { a: 2 } }, { priority: 2 }] };
  },
  restore: async () => {
    const path = `${await fill('restore')}/versions/0/restore`;
    return { path, body: { newer: 'keep' }, others: [{ newer: 'drop' }, { newer: 'keep', expectedVersion: 0 }] };
  },
  fork: async () => {
    const path = `${await fill('fork')}/fork`;
    return { path, body: { to: 'copy' }, others: [{ to: 'copy', head: 3 }] };
  },
  approve: async () => {
    const path = await propose('approve');
    const [summary] = (await http.client.proposal('approve'))?.summaries ?? [];
    const others = [{ waitMs: 60_000, edits: { [summary?.range ?? '']: 'Edited.' } }];
    return { path: `${path}/approve`, body: { waitMs: 60_000 }, others };
  },
  reject: async () => {
    const path = `${await propose('reject')}/reject`;
    return { path, body: { reason: 'no' }, others: [{ reason: 'never' }, {}] };
  },
};

test('this file has a test for every route with an Idempotency-Key', () => {
  const names = routes.filter(({ repeatedBy }) => repeatedBy !== undefined).map(({ operation }) => operation);
  expect(Object.keys(repeatable).toSorted()).toEqual(names.toSorted());
});

test('the name under which a key is hashed survives a renaming of its route, because a retry may reach a later release', () => {
  const names = routes.flatMap(({ operation, keyName = operation, repeatedBy }) => (repeatedBy ? [keyName] : []));
  expect(names.toSorted()).toEqual([
    'appendMessages',
    'approveProposal',
    'enqueueTurn',
    'forkConversation',
    'redriveTurn',
    'rejectProposal',
    'restoreVersion',
    'rollBackTurn',
  ]);
});

test.each(Object.entries(repeatable))(
  '%s gives the same answer to a repeated key and body, and refuses the key with another body',
  async (_, prepare) => {
    const { path, body, others } = await prepare();
    const headers = { 'idempotency-key': 'the key' };
    const first = await http.call('POST', path, { body, headers });
    expect([200, 201, 202]).toContain(first.status);
    for (const other of others) {
      const reused = await http.call('POST', path, { body: other, headers });
      expect(outline(reused), JSON.stringify(other)).toEqual({
        status: 422,
        code: 'key_reused',
        field: 'idempotency-key',
      });
    }
    const again = await http.call('POST', path, { body, headers });
    const { state: _first, ...before } = first.body;
    const { state: _again, ...after } = again.body;
    expect([again.status, after]).toEqual([first.status, before]);
  },
);

test('a request with the members of an object in another order is the same request for its idempotency key', async () => {
  const send = async (context: unknown) =>
    await http.call('POST', `${conversations}/ordered/turns`, {
      body: { agent: 'talker', input: 'hello', context },
      headers: { 'idempotency-key': 'k' },
    });
  const first = await send({ a: 1, b: { c: 2, d: 3 } });
  const again = await send({ b: { d: 3, c: 2 }, a: 1 });
  expect(again.body).toEqual(first.body);
  expect(again.headers.get('idempotency-replayed')).toBe('true');
});

test('a refused write leaves its idempotency key free for a corrected body', async () => {
  const path = `${conversations}/corrected/messages`;
  const headers = { 'idempotency-key': 'k' };
  const wrong = { agent: 'talker', messages: [message], expectedHead: 7 };
  expect(outline(await http.call('POST', path, { body: wrong, headers }))).toMatchObject({ status: 409 });
  const right = { ...wrong, expectedHead: 0 };
  expect((await http.call('POST', path, { body: right, headers })).body).toEqual({ from: 1, to: 1 });
});

test('an idempotency key counts only for its route and conversation', async () => {
  const headers = { 'idempotency-key': 'shared' };
  const body = { agent: 'talker', messages: [message] };
  for (const conversation of ['one', 'two']) {
    const appended = await http.call('POST', `${conversations}/${conversation}/messages`, { body, headers });
    expect(appended.status).toBe(201);
    const turn = { agent: 'talker', input: 'hello' };
    const enqueued = await http.call('POST', `${conversations}/${conversation}/turns`, { body: turn, headers });
    expect([enqueued.status, enqueued.headers.get('idempotency-replayed')]).toEqual([202, null]);
  }
});

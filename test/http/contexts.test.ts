import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTalker, makeVersions, talk } from '../client/fixture.ts';
import { type HttpFixture, openHttpFixture, outline } from './fixture.ts';

let http: HttpFixture;
beforeAll(async () => {
  http = await openHttpFixture();
  const reviewed = {
    ...createTalker(),
    name: 'reviewed',
    policy: { mode: 'review', messageThreshold: 10, retentionWindow: 2 } as const,
  };
  await http.startWorkers([{ ...createTalker(), policy: { retentionWindow: 2, maxTokens: 2_000 } }, reviewed]);
  await makeVersions(http, 'kept');
});
afterAll(() => http.close());

const kept = '/v1/conversations/kept';

test('POST …/messages appends messages of both formats, and a repeated key appends nothing', async () => {
  const messages = [
    { role: 'user', content: 'where is it?' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'x', type: 'function', function: { name: 'look', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'x', content: 'there' },
  ];
  const request = { body: { agent: 'talker', messages }, headers: { 'idempotency-key': 'k' } };
  const first = await http.call('POST', '/v1/conversations/m1/messages', request);
  expect(first).toMatchObject({ status: 201, body: { from: 1, to: 3 } });
  expect((await http.call('POST', '/v1/conversations/m1/messages', request)).body).toEqual(first.body);
  expect((await http.client.log('m1')).map(({ message }) => message.role)).toEqual(['user', 'assistant', 'tool']);
  const behind = { body: { agent: 'talker', messages: [{ role: 'user', content: 'x' }], expectedHead: 1 } };
  const conflict = await http.call('POST', '/v1/conversations/m1/messages', behind);
  expect(outline(conflict)).toEqual({ status: 409, code: 'conflict', field: 'expectedHead' });
});

interface MessagePage {
  readonly items: readonly {
    readonly from: number;
    readonly to: number;
    readonly message: { readonly role: string };
  }[];
  readonly next?: number;
}

test.each(['all', 'active'])('the pages of GET …/messages with view=%s together hold every message', async (view) => {
  const seqs: number[] = [];
  let after = 0;
  for (let next: number | undefined = 0; next !== undefined; ) {
    const { body } = await http.call<MessagePage>('GET', `${kept}/messages?view=${view}&limit=7&after=${after}`);
    expect(body.items.length).toBeLessThanOrEqual(7);
    seqs.push(...body.items.map(({ to }) => to));
    next = body.next;
    after = next ?? 0;
  }
  const context = await http.client.context('kept');
  const whole =
    view === 'all' ? (await http.client.log('kept')).map(({ seq }) => seq) : context.items.map(({ to }) => to);
  expect(seqs).toEqual(whole);
});

test.each([
  ['turnfold', 'items'],
  ['anthropic', 'messages'],
  ['openai-chat', 'messages'],
  ['openai-responses', 'input'],
])('GET …/context answers in the format %s', async (format, list) => {
  const { status, body } = await http.call('GET', `${kept}/context?format=${format}&model=m1`);
  expect(status).toBe(200);
  expect(body).toMatchObject({ conversation: 'kept', version: 2, head: 49, format });
  expect(body).toHaveProperty('agentSnapshot.system', 'You talk.');
  const holder = (format === 'turnfold' ? body : body['body']) as Record<string, unknown[]>;
  expect(holder[list]?.length).toBeGreaterThan(2);
});

test('versions are listed, shown, compared and restored, and a restore fails if another version is live', async () => {
  const { body } = await http.call<{ versions: { number: number }[] }>('GET', `${kept}/versions`);
  expect(body.versions.map(({ number }) => number)).toEqual([1, 2]);
  expect((await http.call('GET', `${kept}/versions/1`)).body).toMatchObject({ version: 1, head: 24 });
  expect((await http.call('GET', `${kept}/diff?before=0&after=1`)).body).toHaveProperty('changes[0].before', 'raw');
  const stale = { body: { newer: 'keep', expectedVersion: 1 }, headers: { 'idempotency-key': 'stale' } };
  const refused = await http.call('POST', `${kept}/versions/1/restore`, stale);
  expect(outline(refused)).toEqual({ status: 409, code: 'conflict', field: 'expectedVersion' });
  const right = { body: { newer: 'keep', expectedVersion: 2 }, headers: { 'idempotency-key': 'right' } };
  const restored = await http.call('POST', `${kept}/versions/1/restore`, right);
  expect(restored).toMatchObject({ status: 200, body: { number: 3, cause: 'restore', parent: 2 } });
  expect((await http.call('POST', `${kept}/versions/1/restore`, right)).body).toEqual(restored.body);
  const missing = await http.call('POST', `${kept}/versions/9/restore`, { body: { newer: 'keep' } });
  expect(outline(missing)).toEqual({ status: 404, code: 'not_found', field: 'version' });
});

test('a dry run shows the plan and requests nothing, and POST …/compact requests a pass', async () => {
  await http.client.append({ conversation: 'dry', agent: 'talker', messages: talk(8) });
  const plan = await http.call('POST', '/v1/conversations/dry/compact', {
    body: { dryRun: true, policy: { maxTokens: 2_000, token_threshold: 2_000 } },
  });
  expect(plan).toMatchObject({ status: 202, body: { plan: { kind: 'summarize', messages: 24 } } });
  const { summarize } = plan.body['plan'] as { summarize: { from: number; to: number }[] };
  expect(summarize.every(({ from, to }) => from >= 1 && to <= 24)).toBe(true);
  expect(await http.client.versions('dry')).toEqual([]);
  const wrong = await http.call('POST', '/v1/conversations/dry/compact', {
    body: { dryRun: true, policy: { maxTokens: -1 } },
  });
  expect(outline(wrong)).toEqual({ status: 422, code: 'invalid_policy', field: 'maxTokens' });
  expect((await http.call('POST', '/v1/conversations/dry/compact')).body).toHaveProperty('pass');
  await expect.poll(async () => (await http.client.versions('dry')).length).toBe(1);
});

test('a rolled back turn leaves the context, and its messages stay in the log', async () => {
  await http.client.enqueueTurn({ conversation: 'back', agent: 'talker', input: 'one', turn: 't1' });
  await http.client.result('back', 't1', { waitMs: 30_000 });
  const rolled = await http.call('POST', '/v1/conversations/back/turns/t1/rollback');
  expect(rolled).toMatchObject({ status: 200, body: { cause: 'rollback' } });
  expect((await http.client.context('back')).items).toEqual([]);
  expect(await http.client.log('back')).toHaveLength(2);
});

test('a proposal is listed, edited and approved, and another proposal is rejected', async () => {
  for (const [conversation, verdict] of [
    ['p1', 'approve'],
    ['p2', 'reject'],
  ] as const) {
    await http.client.append({ conversation, agent: 'reviewed', messages: talk(4) });
    const path = `/v1/conversations/${conversation}/proposals`;
    const list = async () => (await http.call<{ proposals: Proposal[] }>('GET', path)).body.proposals;
    await expect.poll(async () => (await list()).length).toBe(1);
    const [found] = await list();
    expect(found).not.toHaveProperty('tenant');
    const range = found?.summaries[0]?.range ?? '';
    const body =
      verdict === 'approve' ? { edits: { [range]: 'Edited.' }, waitMs: 30_000 } : { reason: 'no', waitMs: 30_000 };
    const decided = await http.call('POST', `${path}/${found?.proposal}/${verdict}`, { body });
    expect(decided).toMatchObject({ status: 200, body: { state: verdict === 'approve' ? 'approved' : 'rejected' } });
    expect(await list()).toEqual([]);
    const again = await http.call('POST', `${path}/${found?.proposal}/${verdict}`);
    expect(outline(again)).toEqual({ status: 409, code: 'proposal_stale', field: 'proposal' });
  }
  const { items } = await http.client.context('p1');
  expect(items.some(({ message }) => message.content.includes('Edited.'))).toBe(true);
});

interface Proposal {
  readonly proposal: string;
  readonly summaries: readonly { readonly range: string }[];
}

test('an export can be imported under another id, and a repeated import changes nothing', async () => {
  const exported = await http.call('GET', `${kept}/export`);
  expect(exported.body['messages']).toHaveLength(49);
  const request = { body: { ...exported.body, agent: 'talker' } };
  const imported = await http.call('POST', '/v1/conversations/copy/import', request);
  expect(imported).toMatchObject({ status: 201, body: { conversation: 'copy', messages: 49 } });
  expect((await http.call('POST', '/v1/conversations/copy/import', request)).status).toBe(201);
  const again = await http.call('GET', '/v1/conversations/copy/export');
  expect(again.body['messages']).toEqual(exported.body['messages']);
  const taken = await http.call('POST', '/v1/conversations/kept/import', {
    body: { ...request.body, messages: talk(1) },
  });
  expect(outline(taken)).toEqual({ status: 409, code: 'conflict', field: 'conversation' });
});

test('a fork appears in the list of conversations, and an erased conversation disappears', async () => {
  const forked = await http.call('POST', `${kept}/fork`, { body: { to: 'branch', head: 24, version: 1 } });
  expect(forked).toMatchObject({ status: 201, body: { conversation: 'branch', head: 24 } });
  expect(forked.headers.get('location')).toBe('/v1/conversations/branch');
  const taken = await http.call('POST', `${kept}/fork`, { body: { to: 'branch' } });
  expect(outline(taken)).toEqual({ status: 409, code: 'conflict', field: 'to' });
  const listed = await http.call<{ conversations: { conversation: string }[] }>(
    'GET',
    '/v1/conversations?agent=talker',
  );
  expect(listed.body.conversations.map(({ conversation }) => conversation)).toContain('branch');
  expect((await http.call('GET', '/v1/conversations/branch')).body).toMatchObject({ agent: 'talker', head: 24 });
  expect((await http.call('DELETE', '/v1/conversations/branch')).body['removedKeys']).toBeGreaterThan(0);
  const gone = await http.call('GET', '/v1/conversations/branch');
  expect(outline(gone)).toEqual({ status: 404, code: 'not_found', field: 'conversation' });
});

test('the pages of the list of conversations together hold every conversation', async () => {
  const names: string[] = [];
  for (let after: string | undefined = ''; after !== undefined; ) {
    const cursor: string = after === '' ? '' : `&after=${encodeURIComponent(after)}`;
    const { body } = await http.call<{ conversations: { conversation: string }[]; next?: string }>(
      'GET',
      `/v1/conversations?limit=2${cursor}`,
    );
    names.push(...body.conversations.map(({ conversation }) => conversation));
    after = body.next;
  }
  expect(new Set(names).size).toBe(names.length);
  expect(names).toContain('kept');
});

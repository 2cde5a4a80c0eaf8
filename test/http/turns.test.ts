import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTalker } from '../client/fixture.ts';
import { type HttpFixture, openHttpFixture, outline } from './fixture.ts';

let http: HttpFixture;
beforeAll(async () => {
  http = await openHttpFixture();
  await http.startWorkers([createTalker()]);
});
afterAll(() => http.close());

const turnsOf = (conversation: string) => `/v1/conversations/${conversation}/turns`;
const hello = { agent: 'talker', input: 'hello' };

interface WaitingPage {
  readonly turns: readonly {
    readonly conversation: string;
    readonly waiting: { readonly calls: readonly { readonly id: string }[] };
  }[];
}

/** Enqueues a turn and returns its path. */
async function enqueue(conversation: string, input: string): Promise<string> {
  const { status, headers } = await http.call('POST', turnsOf(conversation), { body: { agent: 'talker', input } });
  expect(status).toBe(202);
  return headers.get('location') ?? '';
}

test('POST …/turns accepts a turn with 202, and Location leads to its result', async () => {
  const accepted = await http.call('POST', turnsOf('c1'), { body: { ...hello, turn: 't1' } });
  expect(accepted).toMatchObject({ status: 202, body: { conversation: 'c1', turn: 't1' } });
  expect(accepted.headers.get('location')).toBe('/v1/conversations/c1/turns/t1');
  const result = await http.call('GET', '/v1/conversations/c1/turns/t1/result?waitMs=30000');
  expect(result).toMatchObject({ status: 200, body: { state: 'completed', answer: { content: 'heard hello' } } });
  const shown = await http.call('GET', '/v1/conversations/c1/turns/t1');
  expect(shown.body).toEqual(result.body);
});

test('a repeated request with the same Idempotency-Key and body gets the same answer and adds no turn', async () => {
  const request = { body: hello, headers: { 'idempotency-key': 'order 4711, first try' } };
  const first = await http.call('POST', turnsOf('c2'), request);
  const second = await http.call('POST', turnsOf('c2'), request);
  expect(first.status).toBe(202);
  expect([second.status, second.body]).toEqual([first.status, first.body]);
  expect(second.headers.get('location')).toBe(first.headers.get('location'));
  expect([first, second].map(({ headers }) => headers.get('idempotency-replayed'))).toEqual([null, 'true']);
  await http.call('GET', `${first.headers.get('location')}/result`);
  expect((await http.client.describe('c2')).turns).toBe(1);
});

test('a repeated Idempotency-Key with another body gets 422, and a repeated turn id with another body 409', async () => {
  const headers = { 'idempotency-key': 'k1' };
  await http.call('POST', turnsOf('c3'), { body: hello, headers });
  const other = await http.call('POST', turnsOf('c3'), { body: { ...hello, input: 'other' }, headers });
  expect(outline(other)).toEqual({ status: 422, code: 'key_reused', field: 'idempotency-key' });
  await http.call('POST', turnsOf('c3'), { body: { ...hello, turn: 't1' } });
  const conflict = await http.call('POST', turnsOf('c3'), { body: { ...hello, input: 'other', turn: 't1' } });
  expect(outline(conflict)).toEqual({ status: 409, code: 'turn_conflict', field: 'turn' });
});

test('an Idempotency-Key beside a turn id is refused, because one of them would be ignored', async () => {
  const both = { body: { ...hello, turn: 't1' }, headers: { 'idempotency-key': 'k1' } };
  expect(outline(await http.call('POST', turnsOf('c4'), both))).toEqual({
    status: 422,
    code: 'invalid_input',
    field: 'idempotency-key',
  });
});

test.each([
  ['tools', 'call ask', { content: 'forty-two' }, { approved: true }, 'forty-two'],
  ['approval', 'call risk', { approved: true }, { content: 'x' }, 'risked'],
])('a turn that waits for %s is listed with its calls and continues after POST …/answers', async (...row) => {
  const [kind, input, right, wrong, content] = row;
  const conversation = `waits-${kind}`;
  const path = await enqueue(conversation, input);
  await expect.poll(async () => (await http.call('GET', path)).body['state']).toBe('waiting');
  const { body } = await http.call<WaitingPage>('GET', `/v1/waiting?for=${kind}`);
  const found = body.turns.find((turn) => turn.conversation === conversation);
  expect(found?.waiting.calls).toHaveLength(1);
  expect(found).not.toHaveProperty('tenant');
  const open = await http.call('GET', turnsOf(conversation));
  expect(open.body).toMatchObject({ mailbox: 1, turns: [{ state: 'waiting' }] });
  const call = found?.waiting.calls[0]?.id ?? '';
  const refused = await http.call('POST', `${path}/answers`, { body: { answers: { [call]: wrong } } });
  expect(outline(refused)).toEqual({ status: 422, code: 'invalid_input', field: `answers.${call}` });
  const answered = await http.call('POST', `${path}/answers`, { body: { answers: { [call]: right } } });
  expect(answered).toMatchObject({ status: 200, body: { status: 'answered' } });
  const result = await http.call('GET', `${path}/result`);
  expect(result.body).toMatchObject({ state: 'completed', answer: { content } });
});

test('an interrupt that names another turn cancels nothing, and its answer keeps the id of its request', async () => {
  await enqueue('c-named', 'call ask');
  const waiting = async () =>
    (await http.call('GET', turnsOf('c-named'))).body['turns'] as { turn: string; state: string }[];
  await expect.poll(async () => (await waiting())[0]?.state, { timeout: 60_000 }).toBe('waiting');
  const [first] = await waiting();
  const late = { ...hello, turn: 'late', onBusy: 'interrupt', busyTurn: 'other' };
  expect(await http.call('POST', turnsOf('c-named'), { body: late })).toMatchObject({ status: 202 });
  expect((await waiting()).map(({ turn, state }) => [turn, state])).toEqual([
    [first?.turn, 'waiting'],
    ['late', 'queued'],
  ]);
  const answers = { body: { request: 'r7', answers: { c2_0: { content: 'yes' } } } };
  expect(await http.call('POST', `${turnsOf('c-named')}/${first?.turn}/answers`, answers)).toMatchObject({
    status: 200,
  });
  const shown = await http.call('GET', `${turnsOf('c-named')}/${first?.turn}`);
  expect(shown.body).toMatchObject({ requests: ['r7'] });
  const nothing = await http.call('POST', turnsOf('c-named'), { body: { ...hello, busyTurn: 'other' } });
  expect(outline(nothing)).toEqual({ status: 422, code: 'invalid_input', field: 'busyTurn' });
});

test('POST …/cancel settles a waiting turn, and a second call reports the same state', async () => {
  const path = await enqueue('c6', 'call ask');
  await expect.poll(async () => (await http.call('GET', path)).body['state']).toBe('waiting');
  expect((await http.call('POST', `${path}/cancel`)).body).toEqual({ state: 'canceled' });
  expect((await http.call('POST', `${path}/cancel`)).body).toEqual({ state: 'canceled' });
});

test('a failed turn is listed and can be enqueued again once for each Idempotency-Key', async () => {
  const { headers } = await http.call('POST', turnsOf('c7'), { body: { agent: 'nobody', input: 'x' } });
  const path = headers.get('location') ?? '';
  expect((await http.call('GET', `${path}/result`)).body).toMatchObject({ failure: { code: 'unknown_agent' } });
  expect((await http.call('GET', '/v1/failed-turns?code=unknown_agent')).body).toMatchObject({
    turns: [{ conversation: 'c7', failure: { code: 'unknown_agent' } }],
  });
  const again = { headers: { 'idempotency-key': 'again' } };
  const first = await http.call('POST', `${path}/redrive`, again);
  expect(first.status).toBe(202);
  expect((await http.call('POST', `${path}/redrive`, again)).body).toEqual(first.body);
});

test('the result of an unknown turn is answered with 404, and a result that does not come in time with the current state', async () => {
  const missing = await http.call('GET', `${turnsOf('c1')}/none/result`);
  expect(outline(missing)).toEqual({ status: 404, code: 'not_found', field: 'turn' });
  const path = await enqueue('c8', 'call ask');
  expect((await http.call('GET', `${path}/result?waitMs=1`)).status).toBe(200);
  await http.call('POST', `${path}/cancel`);
});

test('a full mailbox gets 429 with Retry-After', async () => {
  const path = await enqueue('c9', 'call ask');
  const full = await http.call('POST', turnsOf('c9'), { body: { ...hello, maxQueuedTurns: 1 } });
  expect(outline(full)).toEqual({ status: 429, code: 'mailbox_full', field: 'conversation' });
  expect(full.headers.get('retry-after')).toBe('1');
  await http.call('POST', `${path}/cancel`);
});

import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ConversationToken } from '../../src/api/client/index.ts';
import { authenticateByKey } from '../../src/api/http/caller.ts';
import { createProtocols } from '../../src/api/http/protocols.ts';
import { type HttpFixture, openHttpFixture, outline, send } from './fixture.ts';

const agent = 'talker';

let http: HttpFixture;
let url: string;
let stop: () => Promise<void>;
beforeAll(async () => {
  http = await openHttpFixture();
  const { client } = http;
  const options = { protocols: createProtocols({ client, agent }), limits: { accessCheckMs: 10 } };
  ({ url, stop } = await http.serve({ authenticate: authenticateByKey(client.keys), ...options }));
  for (const conversation of ['mine', 'other'])
    await client.enqueueTurn({ conversation, agent, input: 'x', turn: 't1' });
});
afterAll(async () => {
  await stop();
  await http.close();
});

async function ask(token: string, path: string, method = 'GET', body?: unknown) {
  return await send(url + path, method, { body, headers: { authorization: `Bearer ${token}` } });
}

async function createToken(conversation: string, body: object = {}, tenant = '_'): Promise<ConversationToken> {
  const { token } = await http.client.keys.create({ tenant, scopes: ['admin'] });
  const answer = await ask(token, `/v1/conversations/${conversation}/tokens`, 'POST', body);
  expect(answer.status).toBe(201);
  return answer.body as object as ConversationToken;
}

const CONVERSATION = '/v1/conversations';

test('a token reaches its conversation over the routes and the protocols, and no other one', async () => {
  const { token, scopes, expiresAt, ...rest } = await createToken('mine');
  expect(token).toMatch(/^tfc_/);
  expect(scopes).toEqual(['read', 'enqueue', 'answer']);
  expect(expiresAt).toBeGreaterThan(1_700_000_000_000);
  expect(rest).toEqual({ conversation: 'mine' });
  expect((await ask(token, '/v1/access')).body).toEqual({ tenant: '_', scopes, conversation: 'mine' });
  expect((await ask(token, `${CONVERSATION}/mine`)).status).toBe(200);
  expect((await ask(token, '/v1/chat/mine')).status).toBe(200);
  const turn = await ask(token, `${CONVERSATION}/mine/turns`, 'POST', { agent, input: 'and on' });
  expect(turn.status).toBe(202);
  for (const path of [`${CONVERSATION}/other`, '/v1/chat/other', `${CONVERSATION}/other/turns/t1/events`])
    expect(outline(await ask(token, path))).toEqual({ status: 403, code: 'forbidden', field: 'conversation' });
  for (const path of [CONVERSATION, '/v1/waiting', '/v1/failed-turns', '/v1/usage', '/v1/fleet'])
    expect((await ask(token, path)).status, path).toBe(403);
});

test('a token has only its scopes, never admin, and cannot create tokens', async () => {
  const { token } = await createToken('mine', { scopes: ['read'] });
  const refused = await ask(token, `${CONVERSATION}/mine/turns`, 'POST', { agent, input: 'x' });
  expect(outline(refused)).toEqual({ status: 403, code: 'forbidden', field: 'authorization' });
  const all = await createToken('mine');
  expect((await ask(all.token, `${CONVERSATION}/mine`, 'DELETE')).status).toBe(403);
  expect((await ask(all.token, `${CONVERSATION}/mine/tokens`, 'POST', {})).status).toBe(403);
  const { token: key } = await http.client.keys.create({ tenant: '_', scopes: ['enqueue'] });
  const more = await ask(key, `${CONVERSATION}/mine/tokens`, 'POST', { scopes: ['read'] });
  expect(outline(more)).toEqual({ status: 403, code: 'forbidden', field: 'authorization' });
  const admin = await ask(key, `${CONVERSATION}/mine/tokens`, 'POST', { scopes: ['admin'] });
  expect(outline(admin)).toMatchObject({ status: 422, code: 'invalid_input', field: 'scopes[0]' });
});

test('a stream ends when its token expires, and the token is then refused', async () => {
  const { token } = await createToken('mine', { expiresInMs: 700 });
  const stream = await fetch(`${url}${CONVERSATION}/mine/turns/t1/events`, {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(stream.status).toBe(200);
  await stream.text();
  expect(outline(await ask(token, `${CONVERSATION}/mine`))).toMatchObject({ status: 401, code: 'unauthorized' });
});

test('a token whose claims or signature were changed is refused', async () => {
  const { token } = await createToken('mine', { scopes: ['read'] });
  const [claims = '', signature = ''] = token.slice(4).split('.');
  const read = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { c: string; s: string[]; e: number };
  const forge = (change: object): string =>
    `tfc_${Buffer.from(JSON.stringify({ ...read, ...change })).toString('base64url')}.${signature}`;
  const forged = [{ c: 'other' }, { s: ['read', 'enqueue'] }, { e: read.e + 1 }, { t: 'two' }, { k: '0'.repeat(16) }];
  for (const change of forged) expect((await ask(forge(change), `${CONVERSATION}/mine`)).status).toBe(401);
  for (const text of ['tfc_', 'tfc_.', `tfc_${claims}.${'A'.repeat(43)}`, `tfc_${'A'.repeat(900)}.${signature}`])
    expect((await ask(text, `${CONVERSATION}/mine`)).status).toBe(401);
  expect((await ask(token, `${CONVERSATION}/mine`)).status).toBe(200);
});

test('a rotation without grace ends all tokens of its tenant, and with grace none', async () => {
  const { keys, client } = { keys: http.client.keys, client: http.client };
  await client.enqueueTurn({ tenant: 'two', conversation: 'mine', agent, input: 'x' });
  const [one, two] = [await createToken('mine'), await createToken('mine', {}, 'two')];
  const status = async ({ token }: ConversationToken) => (await ask(token, `${CONVERSATION}/mine`)).status;
  await keys.rotateTokenSecret({ tenant: 'two', graceMs: 60_000 });
  expect([await status(one), await status(two)]).toEqual([200, 200]);
  await keys.rotateTokenSecret({ tenant: 'two', graceMs: 0 });
  await expect.poll(() => status(two), { timeout: 10_000 }).toBe(401);
  expect(await status(one)).toBe(200);
  expect(await status(await createToken('mine', {}, 'two'))).toBe(200);
});

test('a conversation that a token creates has the owner of the token', async () => {
  const { token } = await createToken('fresh', { owner: 'ann' });
  expect((await ask(token, `${CONVERSATION}/fresh`)).status).toBe(404);
  expect((await ask(token, `${CONVERSATION}/fresh/turns`, 'POST', { agent, input: 'hello' })).status).toBe(202);
  expect(await http.client.describe('fresh')).toMatchObject({ owner: 'ann', title: 'hello' });
  const { token: other } = await createToken('fresh', { owner: 'bob' });
  expect((await ask(other, `${CONVERSATION}/fresh`)).status).toBe(403);
});

test('a caller of one owner creates only tokens that carry this owner, so that no later owner is reached', async () => {
  const asAnn = { tenant: '_', scopes: ['read', 'enqueue', 'answer'] as const, owner: 'ann' };
  const bound = await http.serve({ authenticate: async () => asAnn });
  const create = async (conversation: string, body: object) =>
    await send<ConversationToken>(`${bound.url}${CONVERSATION}/${conversation}/tokens`, 'POST', { body });
  expect(outline(await create('not-yet', { owner: 'bob' }))).toEqual({
    status: 403,
    code: 'forbidden',
    field: 'owner',
  });
  const { token } = (await create('not-yet', {})).body;
  await http.client.enqueueTurn({ conversation: 'not-yet', agent, input: 'of bob', owner: 'bob' });
  for (const path of [`${CONVERSATION}/not-yet`, '/v1/chat/not-yet'])
    expect(outline(await ask(token, path))).toMatchObject({ status: 403, code: 'forbidden' });
  expect((await create('not-yet', {})).status).toBe(403);
  await bound.stop();
});

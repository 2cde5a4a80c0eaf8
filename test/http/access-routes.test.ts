import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { authenticateByKey } from '../../src/api/http/caller.ts';
import { type HttpClient, openHttpClient } from '../../src/api/http-client/index.ts';
import { failureOf } from '../client/fixture.ts';
import { openReceiver } from '../webhooks/receiver.ts';
import { type HttpFixture, openHttpFixture, outline, send } from './fixture.ts';

let http: HttpFixture;
let url: string;
beforeAll(async () => {
  http = await openHttpFixture();
  ({ url } = await http.serve({ authenticate: authenticateByKey(http.client.keys) }));
});
afterAll(() => http.close());

async function openFor(tenant: string): Promise<HttpClient> {
  const { token } = await http.client.keys.create({ tenant, scopes: ['admin'], name: 'admin' });
  const client = openHttpClient({ url, key: token });
  onTestFinished(() => client.close());
  return client;
}

test('an admin creates, lists, rotates and revokes keys of its tenant over HTTP', async () => {
  const { keys } = await openFor('one');
  const { key, token } = await keys.create({ tenant: 'one', scopes: ['read'], name: 'page', expiresInMs: 60_000 });
  expect(key).toMatchObject({ tenant: 'one', name: 'page', scopes: ['read'], state: 'active' });
  const status = async (bearer: string) =>
    (await send(`${url}/v1/conversations`, 'GET', { headers: { authorization: `Bearer ${bearer}` } })).status;
  expect(await status(token)).toBe(200);
  expect((await keys.list()).map(({ name }) => name).toSorted()).toEqual(['admin', 'page']);
  const rotated = await keys.rotate(key.id, { graceMs: 0 });
  expect(await status(rotated.token)).toBe(200);
  expect(await keys.revoke(key.id)).toMatchObject({ id: key.id, state: 'revoked' });
  await expect.poll(() => status(rotated.token), { timeout: 10_000 }).toBe(401);
});

test('an admin adds, lists and removes webhooks of its tenant over HTTP', async () => {
  const { webhooks } = await openFor('hooks');
  const { webhook, secret } = await webhooks.add({
    tenant: 'hooks',
    url: 'https://example.com/h',
    events: ['turn.settled'],
  });
  expect(secret).toMatch(/^whsec_/);
  expect(webhook).toMatchObject({ tenant: 'hooks', state: 'active', events: ['turn.settled'] });
  expect(await webhooks.list()).toEqual([webhook]);
  expect(await webhooks.retry(webhook.id)).toEqual(webhook);
  await webhooks.remove(webhook.id);
  expect(await webhooks.list()).toEqual([]);
  expect((await failureOf(() => webhooks.remove(webhook.id))).error).toMatchObject({ code: 'not_found' });
});

test('a test of a webhook whose caller leaves over HTTP is forgotten before a worker sends it', async () => {
  const { webhooks } = await openFor('left');
  const { webhook } = await webhooks.add({ tenant: 'left', url: 'https://example.com/left' });
  const leaving = new AbortController();
  const tested = webhooks.test(webhook.id, { signal: leaving.signal }).catch((error: unknown) => error);
  const count = async () => await http.redis.hlen('{tf}:webhook-tests');
  await expect.poll(count).toBe(1);
  leaving.abort(new Error('left'));
  expect(await tested).toMatchObject({ message: 'left' });
  await expect.poll(count).toBe(0);
});

test('a tenant has at most 16 webhooks, and the refusal over HTTP names no field that the request lacks', async () => {
  const { webhooks } = await openFor('many');
  const add = async () => await webhooks.add({ tenant: 'many', url: 'https://example.com/many' });
  for (let added = 0; added < 16; added += 1) await add();
  const { error } = await failureOf(add);
  expect(error).toMatchObject({ code: 'invalid_input', field: undefined });
  expect(error).toHaveProperty('message', expect.stringContaining('tenant many has 16 webhooks already'));
});

test('a worker sends the test event that an admin asks for over HTTP, and the answer has the outcome', async () => {
  const { received, url: receiver } = await openReceiver();
  await http.startWorkers(undefined, { webhooks: { allowPrivate: true } });
  const { webhooks } = await openFor('tested');
  const { webhook, secret } = await webhooks.add({ tenant: 'tested', url: receiver });
  expect(await webhooks.test(webhook.id)).toEqual({
    webhook: webhook.id,
    status: 'delivered',
    durationMs: expect.any(Number) as number,
  });
  const [{ body, headers } = { body: '', headers: {} }] = received;
  expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toMatchObject({ type: 'webhook.test' });
  expect(await webhooks.list()).toEqual([webhook]);
});

test('keys and webhooks of another tenant count as unknown, and nothing of them changes', async () => {
  const { keys, webhooks } = await openFor('three');
  const { key } = await http.client.keys.create({ tenant: 'two', scopes: ['read'] });
  const { webhook } = await http.client.webhooks.add({ tenant: 'two', url: 'https://example.com/two' });
  const calls = [
    () => keys.rotate(key.id),
    () => keys.revoke(key.id),
    () => webhooks.remove(webhook.id),
    () => webhooks.retry(webhook.id),
    () => webhooks.test(webhook.id),
  ];
  for (const call of calls) expect((await failureOf(call)).error).toMatchObject({ code: 'not_found' });
  expect((await failureOf(() => keys.create({ tenant: 'two', scopes: ['read'] }))).error).toMatchObject({
    code: 'access_denied',
  });
  expect((await keys.list()).map(({ tenant }) => tenant)).toEqual(['three']);
  expect(await http.client.keys.list({ tenant: 'two' })).toMatchObject([{ id: key.id, state: 'active' }]);
  expect(await http.client.webhooks.list({ tenant: 'two' })).toHaveLength(1);
});

test('only the scope admin, and no caller of one owner, reaches keys and webhooks', async () => {
  const { token } = await http.client.keys.create({ tenant: 'one', scopes: ['read', 'enqueue', 'answer'] });
  const { url: bound } = await http.serve({
    authenticate: async () => ({ tenant: 'one', scopes: ['admin'], owner: 'ann' }),
  });
  for (const [method, path] of [
    ['GET', '/v1/keys'],
    ['POST', '/v1/keys'],
    ['GET', '/v1/webhooks'],
    ['POST', '/v1/token-secret/rotate'],
  ] as const) {
    const options = { ...(method === 'POST' && { body: path === '/v1/keys' ? { scopes: ['read'] } : {} }) };
    const headers = { authorization: `Bearer ${token}` };
    expect(outline(await send(url + path, method, { ...options, headers })), path).toMatchObject({ status: 403 });
    expect(outline(await send(bound + path, method, options)), path).toMatchObject({ status: 403, code: 'forbidden' });
  }
});

test('a server whose client has no keys answers not_offered', async () => {
  const { keys: _, webhooks: __, ...client } = http.client;
  const { url: bare } = await http.serve({ client });
  expect(outline(await send(`${bare}/v1/keys`, 'GET'))).toEqual({ status: 501, code: 'not_offered', field: 'keys' });
  const webhooks = await send(`${bare}/v1/webhooks`, 'GET');
  expect(outline(webhooks)).toEqual({ status: 501, code: 'not_offered', field: 'webhooks' });
});

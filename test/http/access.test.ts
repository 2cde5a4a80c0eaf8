import { afterAll, beforeAll, expect, test } from 'vitest';
import { authenticateByKey } from '../../src/api/http/caller.ts';
import { type HttpFixture, openHttpFixture, send } from './fixture.ts';

let http: HttpFixture;
beforeAll(async () => {
  http = await openHttpFixture();
});
afterAll(() => http.close());

test('the access route shows the tenant and the scopes of a key', async () => {
  const { keys } = http.client;
  const { token } = await keys.create({ tenant: 'two', scopes: ['read', 'answer'] });
  const { url, stop } = await http.serve({ authenticate: authenticateByKey(keys) });
  const { body } = await send(`${url}/v1/access`, 'GET', { headers: { authorization: `Bearer ${token}` } });
  expect(body).toEqual({ tenant: 'two', scopes: ['read', 'answer'] });
  await stop();
});

test('the access route reports a server that only reads', async () => {
  expect((await http.call('GET', '/v1/access')).body).not.toHaveProperty('isReadOnly');
  const { url, stop } = await http.serve({ isReadOnly: true });
  expect((await send(`${url}/v1/access`, 'GET')).body).toMatchObject({ tenant: '_', isReadOnly: true });
  await stop();
});

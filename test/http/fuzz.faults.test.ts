import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTalker, talk } from '../client/fixture.ts';
import { arbitraryRequest, type OpenApi } from './arbitrary-requests.ts';
import { type HttpFixture, openHttpFixture, send } from './fixture.ts';
import { sendRandom, withProtocols } from './random-requests.ts';

let http: HttpFixture;
beforeAll(async () => {
  http = await openHttpFixture();
  await http.startWorkers([createTalker()]);
  await http.client.append({ conversation: 'neighbour', agent: 'talker', messages: talk(4) });
});
afterAll(() => http.close());

/** 20,000 requests, 20 at a time, beside working workers. */
const [BATCHES, BATCH] = [1_000, 20];

test('20,000 random requests, 20 at a time, get no 5xx and leave another conversation as it was', async () => {
  const { url } = await http.serve(withProtocols(http.client));
  const { body: document } = await send<OpenApi>(`${url}/v1/openapi.json`, 'GET');
  const before = await http.call('GET', '/v1/conversations/neighbour/export');
  let sent = 0;
  const answers = new Set<number>();
  const batches = fc.array(arbitraryRequest(document), { minLength: BATCH, maxLength: BATCH });
  await fc.assert(
    fc.asyncProperty(batches, async (requests) => {
      const statuses = await Promise.all(requests.map((request) => sendRandom(url, request)));
      sent += statuses.length;
      for (const status of statuses) answers.add(status);
    }),
    { numRuns: BATCHES, endOnFailure: true },
  );
  expect(sent).toBe(BATCHES * BATCH);
  expect([...answers]).toEqual(expect.arrayContaining([200, 201, 202, 204, 404, 409, 415, 422]));
  expect(await http.call('GET', '/v1/conversations/neighbour/export')).toMatchObject({ body: before.body });
  expect(http.defects).toEqual([]);
});

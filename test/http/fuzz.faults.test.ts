import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTalker, talk } from '../client/fixture.ts';
import { arbitraryRequest, type OpenApi } from './arbitrary-requests.ts';
import { type HttpFixture, openHttpFixture } from './fixture.ts';
import { sendRandom } from './random-requests.ts';

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
  const { body: document } = await http.call<OpenApi>('GET', '/v1/openapi.json');
  const before = await http.call('GET', '/v1/conversations/neighbour/export');
  let sent = 0;
  const batches = fc.array(arbitraryRequest(document), { minLength: BATCH, maxLength: BATCH });
  await fc.assert(
    fc.asyncProperty(batches, async (requests) => {
      const statuses = await Promise.all(requests.map((request) => sendRandom(http.baseUrl, request)));
      sent += statuses.length;
    }),
    { numRuns: BATCHES, endOnFailure: true },
  );
  expect(sent).toBe(BATCHES * BATCH);
  expect(await http.call('GET', '/v1/conversations/neighbour/export')).toMatchObject({ body: before.body });
  expect(http.defects).toEqual([]);
});

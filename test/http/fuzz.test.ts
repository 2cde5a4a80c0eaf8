import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { talk } from '../client/fixture.ts';
import { arbitraryRequest, type OpenApi } from './arbitrary-requests.ts';
import { type HttpFixture, openHttpFixture, send } from './fixture.ts';
import { readState, sendRandom, withProtocols } from './random-requests.ts';

let http: HttpFixture;
beforeAll(async () => {
  http = await openHttpFixture();
  await http.client.append({ conversation: 'a', agent: 'talker', messages: talk(2) });
});
afterAll(() => http.close());

test('a random request gets an answer that matches its schema or a problem, never a 5xx, and a refused request changes nothing', async () => {
  const { url } = await http.serve(withProtocols(http.client));
  const { body: document } = await send<OpenApi>(`${url}/v1/openapi.json`, 'GET');
  const statuses = new Set<number>();
  let state = await readState(http.client);
  await fc.assert(
    fc.asyncProperty(arbitraryRequest(document), async (request) => {
      const status = await sendRandom(url, request);
      statuses.add(status);

      const after = await readState(http.client);
      if (status >= 400) expect(after).toEqual(state);
      state = after;
    }),
    { numRuns: 120, endOnFailure: true },
  );
  expect([...statuses]).toEqual(expect.arrayContaining([200, 404, 422]));
  expect(http.defects).toEqual([]);
});

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { z } from 'zod';
import type { TurnfoldClient } from '../../src/api/client/index.ts';
import { EVENT_STREAM } from '../../src/api/http/event-stream.ts';
import type { RecordedExample } from '../../src/api/http/examples.ts';
import { describeProtocol, describeRoute } from '../../src/api/http/openapi.ts';
import { createProtocols } from '../../src/api/http/protocols.ts';
import { routes } from '../../src/api/http/routes.ts';
import type { OpenApi } from './arbitrary-requests.ts';
import { createExampleAgents } from './examples/example-agents.ts';
import { ExampleRecorder } from './examples/recorder.ts';
import { runScenario } from './examples/scenario.ts';
import { type HttpFixture, openHttpFixture, send } from './fixture.ts';

const FILE = join(import.meta.dirname, '../../src/api/http/examples.json');
const protocolsOf = (client: TurnfoldClient) => createProtocols({ client, agent: 'support' });
const described = [...routes.map(describeRoute), ...protocolsOf({} as TurnfoldClient).flatMap(describeProtocol)];

let http: HttpFixture;
let recorder: ExampleRecorder;
beforeAll(async () => {
  http = await openHttpFixture();
  await http.startWorkers(createExampleAgents());
  const { url } = await http.serve({ protocols: protocolsOf(http.client) });
  const { body: document } = await send<OpenApi>(`${url}/v1/openapi.json`, 'GET');
  recorder = new ExampleRecorder(url, document);
  await runScenario(http, recorder);
});
afterAll(() => http.close());

const requestOf = ({ answer: _answer, events: _events, ...request }: RecordedExample) => request;

/** To write the file: `WRITE_EXAMPLES=1 npx vitest run --project integration test/http/examples.test.ts`. */
test('the document has an example of every operation, and a served app answers each with the same status', () => {
  const { examples, missing } = recorder;
  expect(missing, 'operations without an example').toEqual([]);
  if (process.env['WRITE_EXAMPLES'] === '1') writeFileSync(FILE, `${JSON.stringify(examples, null, 2)}\n`);
  const kept = JSON.parse(readFileSync(FILE, 'utf8')) as typeof examples;
  const requests = (all: typeof examples) => Object.entries(all).map(([name, one]) => [name, requestOf(one)]);
  expect(requests(kept), 'the file differs: write it as the comment of this test says').toEqual(requests(examples));
});

test.for(described)(
  'the answer and the events of $operation match their schemas, in the file and from the server',
  (route) => {
    const { operation, results, status = 200 } = route;
    const kept = JSON.parse(readFileSync(FILE, 'utf8')) as typeof recorder.examples;
    for (const { [operation]: example } of [kept, recorder.examples]) {
      const { 'application/json': json, [EVENT_STREAM]: stream } = results as Record<string, z.ZodType | undefined>;
      if (operation !== 'openAiDeleteItem') expect(example?.status).toBe(status);
      if (example?.answer !== undefined && example.status < 300)
        expect(json?.safeParse(example.answer).error).toBeUndefined();
      for (const [type, event] of Object.entries(example?.events ?? {})) {
        expect(stream?.safeParse(event).error, type).toBeUndefined();
      }
    }
  },
);

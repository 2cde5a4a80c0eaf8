import { afterAll, beforeAll, expect, test } from 'vitest';
import { agUiApp } from '../../src/api/http/ag-ui/ag-ui-app.ts';
import { agUiEventSchema } from '../../src/api/http/ag-ui/event-schema.ts';
import { aiSdkApp } from '../../src/api/http/ai-sdk/ai-sdk-app.ts';
import { chunkSchema } from '../../src/api/http/ai-sdk/chunk-schema.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { createSharingAgent } from './ag-ui-agent.ts';
import { openThreads, user } from './ag-ui-thread.ts';
import { explainDifference } from './described-events.ts';
import { createFrontEndAgent } from './front-end-agent.ts';
import { serveApp } from './served-app.ts';

let fixture: Fixture;
let agUi: Awaited<ReturnType<typeof serveApp>>;
let chat: Awaited<ReturnType<typeof serveApp>>;

beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([createFrontEndAgent(), createSharingAgent()]);
  const options = { authenticate: 'none', clientFor: () => fixture.client } as const;
  agUi = await serveApp(agUiApp({ ...options, agent: 'sharer' }));
  chat = await serveApp(aiSdkApp({ ...options, agent: 'guide' }));
});
afterAll(async () => {
  await agUi.close();
  await chat.close();
  await fixture.close();
});

const INPUTS = [
  'hello',
  'call read_state',
  'call count',
  'call locate',
  'call book',
  'call count,book',
  'fail',
  'call nothing',
];

test.each([{ protocolVersion: '1.0' }, { protocolVersion: undefined }])(
  'each event of a run of AG-UI is as the OpenAPI document describes it ($protocolVersion)',
  async (version) => {
    const threads = openThreads(agUi.url);
    for (const [index, input] of INPUTS.entries()) {
      const threadId = `events-${version.protocolVersion}-${index}`;
      const begun = { threadId, messages: [user('m1', input)], state: { count: 1 }, ...version };
      const events = await threads.run({ ...begun, runId: 'r1' });
      const later = { threadId, messages: [user('m1', input), user('m2', 'hello')], ...version };
      const refused = await threads.run({ ...later, runId: 'r2' });
      expect(events.at(-1)?.type).toMatch(/^RUN_(FINISHED|ERROR)$/);
      for (const event of [...events, ...refused]) {
        expect(explainDifference(agUiEventSchema.options, event)).toBeUndefined();
      }
    }
  },
);

test.each(['5', '6', '7'])(
  'each chunk of a chat is as the OpenAPI document describes it (AI SDK %s)',
  async (version) => {
    for (const [index, input] of ['hello', 'call look', 'call locate', 'call pay', 'fail'].entries()) {
      const message = { id: 'm1', role: 'user', parts: [{ type: 'text', text: input }] };
      const response = await fetch(`${chat.url}/v1/chat`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-ai-sdk-version': version },
        body: JSON.stringify({ id: `chunks-${version}-${index}`, messages: [message] }),
      });
      const frames = (await response.text()).split('\n').filter((line) => line.startsWith('data: {'));
      expect(frames.length).toBeGreaterThan(0);
      for (const frame of frames) {
        const chunk = JSON.parse(frame.slice('data: '.length)) as { type: string };
        expect(explainDifference(chunkSchema.options, chunk)).toBeUndefined();
      }
    }
  },
);

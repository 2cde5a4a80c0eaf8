import * as ai7 from 'ai';
import * as ai5 from 'ai5';
import * as ai6 from 'ai6';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { aiSdkApp } from '../../src/api/http/ai-sdk/ai-sdk-app.ts';
import { createDurableTransport } from '../../src/chat/index.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { createFrontEndAgent } from './front-end-agent.ts';

/** The packages differ in types that this test does not use. */
const SDKS = { 5: ai5 as unknown as typeof ai7, 6: ai6 as unknown as typeof ai7, 7: ai7 };

const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

let fixture: Fixture;
let serve: typeof fetch;

beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([createFrontEndAgent()]);
  const app = aiSdkApp({ authenticate: 'none', clientFor: () => fixture.client, agent: 'guide' });
  serve = async (target, init) => {
    const request = new Request(new URL(pathOf(target), 'http://127.0.0.1'), init);
    request.headers.set('host', '127.0.0.1');
    return await app.fetch(request);
  };
});
afterAll(() => fixture.close());

function pathOf(target: Parameters<typeof fetch>[0]): string {
  return target instanceof Request ? target.url : target.toString();
}

test.each([5, 6, 7] as const)('a page of AI SDK %i may send any number of pictures', async (sdkVersion) => {
  const id = `pictures-${sdkVersion}`;
  const state: ai7.ChatState<ai7.UIMessage> = {
    status: 'ready',
    error: undefined,
    messages: [],
    pushMessage: (message) => void (state.messages = [...state.messages, message]),
    popMessage: () => void (state.messages = state.messages.slice(0, -1)),
    replaceMessage: (index, message) => void (state.messages = state.messages.with(index, structuredClone(message))),
    snapshot: (value) => structuredClone(value),
  };
  class Page extends SDKS[sdkVersion].AbstractChat<ai7.UIMessage> {}
  const page = new Page({ id, state, transport: createDurableTransport({ fetch: serve, sdkVersion }) });
  const url = `data:image/png;base64,${Buffer.concat([PIXEL, Buffer.alloc(675_000)]).toString('base64')}`;
  for (let sent = 0; sent < 8; sent += 1) {
    const files = [{ type: 'file' as const, mediaType: 'image/png', url }];
    await page.sendMessage({ text: `picture ${sent}`, files });
    expect(page.error).toBeUndefined();
    expect(page.lastMessage).toMatchObject({ role: 'assistant' });
  }
  // All but the newest messages are left out of the request.
  await page.sendMessage({ text: 'call book' });
  expect(page.lastMessage?.parts.map(({ type }) => type)).toContain('dynamic-tool');
});

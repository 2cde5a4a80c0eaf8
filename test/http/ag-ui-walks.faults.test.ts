import { HttpAgent } from '@ag-ui/client';
import { HttpAgent as OlderAgent } from '@ag-ui/client59';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { agUiApp } from '../../src/api/http/ag-ui/ag-ui-app.ts';
import { agUiEventSchema } from '../../src/api/http/ag-ui/event-schema.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { createSharingAgent, gates } from './ag-ui-agent.ts';
import { explainDifference } from './described-events.ts';
import { serveApp } from './served-app.ts';

const CLIENTS = {
  '1.0': HttpAgent,
  // Its types of messages differ in fields that this test does not read.
  '0.0.59': OlderAgent as unknown as typeof HttpAgent,
};
type Version = keyof typeof CLIENTS;

/** An act of a person in one of two pages that show the same thread. */
type Action =
  | { readonly type: 'say'; readonly text: string }
  /** Says something, and presses the stop button at some event. */
  | { readonly type: 'abort'; readonly text: string; readonly after: number }
  /** Decides on all interrupts, or delivers all results. Without open calls, nothing. */
  | { readonly type: 'answer'; readonly approved: boolean }
  | { readonly type: 'regenerate' }
  | { readonly type: 'reload' };

interface Step {
  readonly page: 0 | 1;
  readonly action: Action;
}

const texts = [
  'hello',
  'hello',
  'call read_state',
  'call count',
  'call locate',
  'call book',
  'call book,locate',
  'fail',
];
const text = fc.constantFrom(...texts);
const step: fc.Arbitrary<Step> = fc.record({
  page: fc.constantFrom(0 as const, 0 as const, 1 as const),
  action: fc.oneof(
    { weight: 4, arbitrary: fc.record({ type: fc.constant('say' as const), text }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('abort' as const), text, after: fc.nat({ max: 6 }) }) },
    { weight: 3, arbitrary: fc.record({ type: fc.constant('answer' as const), approved: fc.boolean() }) },
    { weight: 1, arbitrary: fc.constant({ type: 'regenerate' as const }) },
    { weight: 1, arbitrary: fc.constant({ type: 'reload' as const }) },
  ),
});

let fixture: Fixture;
let server: Awaited<ReturnType<typeof serveApp>>;
let count = 0;

beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([createSharingAgent()]);
  server = await serveApp(agUiApp({ authenticate: 'none', clientFor: () => fixture.client, agent: 'sharer' }));
});
afterAll(async () => {
  for (const gate of gates.values()) gate.resolve();
  await server.close();
  await fixture.close();
});

/** A page with a stock client. */
class ShownPage {
  readonly #version: Version;
  agent: HttpAgent;

  constructor(version: Version, threadId: string) {
    this.#version = version;
    this.agent = this.#open(threadId, '');
  }

  #open(threadId: string, path: string): HttpAgent {
    return new CLIENTS[this.#version]({ url: `${server.url}/v1/ag-ui${path}`, threadId });
  }

  async act(action: Action): Promise<void> {
    switch (action.type) {
      case 'say':
      case 'abort':
        this.agent.addMessage({ id: nameNext('m'), role: 'user', content: action.text });
        return await this.#run({ ...(action.type === 'abort' && { abortAfter: action.after }) });
      case 'answer':
        return await this.#answer(action.approved);
      case 'regenerate': {
        const last = this.agent.messages.findLastIndex(({ role }) => role === 'user');
        if (last === -1) return;
        this.agent.setMessages(this.agent.messages.slice(0, last + 1));
        return await this.#run({});
      }
      case 'reload':
        return await this.reload();
    }
  }

  async reload(): Promise<void> {
    const { threadId } = this.agent;
    const connected = this.#open(threadId, '/connect');
    await connected.runAgent();
    this.agent = this.#open(threadId, '');
    this.agent.setMessages(connected.messages);
    this.agent.pendingInterrupts = connected.pendingInterrupts;
  }

  async #answer(approved: boolean): Promise<void> {
    const resume = this.agent.pendingInterrupts.map(({ id }) => {
      return { interruptId: id, status: 'resolved' as const, payload: { approved } };
    });
    if (resume.length > 0) return await this.#run({ resume });
    const calls = this.agent.messages.flatMap((one) => (one.role === 'assistant' ? (one.toolCalls ?? []) : []));
    const results = new Set(this.agent.messages.flatMap((one) => (one.role === 'tool' ? [one.toolCallId] : [])));
    const open = calls.filter((call) => call.function.name === 'locate' && !results.has(call.id));
    if (open.length === 0) return;
    for (const { id } of open) {
      this.agent.addMessage({ id: nameNext('t'), role: 'tool', toolCallId: id, content: 'at home' });
    }
    await this.#run({});
  }

  /** Runs to the end. A client that gets no last event and no error would hang here. */
  async #run({
    resume,
    abortAfter = Number.POSITIVE_INFINITY,
  }: {
    readonly resume?: { interruptId: string; status: 'resolved'; payload: object }[];
    readonly abortAfter?: number;
  }): Promise<void> {
    const types: string[] = [];
    let error = '';
    const onEvent = ({ event }: { event: { type: string } }): void => {
      types.push(event.type);
      if (types.length > abortAfter) this.agent.abortRun();
    };
    await this.agent.runAgent(resume === undefined ? {} : { resume }, { onEvent }).catch(({ message }: Error) => {
      error = message;
    });
    const hasEnd = types.includes('RUN_FINISHED') || types.includes('RUN_ERROR');
    if (!hasEnd && error === '' && types.length <= abortAfter) throw new Error('the run ended without a last event');
  }
}

function nameNext(kind: string): string {
  count += 1;
  return `${kind}${count}`;
}

/** Ends all open turns of a thread. */
async function finish(threadId: string): Promise<void> {
  const { turns } = (await fixture.client.openTurns(threadId).catch(() => undefined)) ?? { turns: [] };
  for (const { turn } of turns) await fixture.client.cancel(threadId, turn);
}

test.each(Object.keys(CLIENTS) as Version[])(
  'no random walk through two pages makes the AG-UI client %s hang, and both pages show the log after a reload',
  async (version) => {
    const property = fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 8 }), async (steps) => {
      const threadId = nameNext('walk-');
      const pages = [new ShownPage(version, threadId), new ShownPage(version, threadId)] as const;
      for (const { page, action } of steps) await pages[page].act(action);
      await finish(threadId);
      for (const page of pages) await page.reload();
      const said = (await fixture.client.context(threadId).catch(() => undefined))?.items ?? [];
      const expected = said.map(({ message: { role, content } }) => `${role}: ${content}`);
      for (const { agent } of pages) {
        const shown = agent.messages.filter(({ role }) => role !== 'activity' && role !== 'reasoning');
        const lines = shown.map(({ role, content }) => `${role}: ${typeof content === 'string' ? content : ''}`);
        expect(lines).toEqual(expected);
      }
    });
    await fc.assert(property, { numRuns: 100 });
  },
  600_000,
);

test('each event of a run that was aborted, repeated and connected to is in the OpenAPI document', async () => {
  const body = { threadId: 'described', runId: 'r1', messages: [{ id: 'm1', role: 'user', content: 'call count' }] };
  const post = async (path: string): Promise<string> => {
    const headers = { 'content-type': 'application/json' };
    return await (await fetch(`${server.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).text();
  };
  const streams = [await post('/v1/ag-ui'), await post('/v1/ag-ui'), await post('/v1/ag-ui/connect')];
  const frames = streams
    .join('')
    .split('\n')
    .filter((line) => line.startsWith('data: '));
  for (const frame of frames) {
    const event = JSON.parse(frame.slice('data: '.length)) as { type: string };
    expect(explainDifference(agUiEventSchema.options, event)).toBeUndefined();
  }
});

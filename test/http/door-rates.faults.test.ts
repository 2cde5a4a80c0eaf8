import { afterAll, beforeAll, expect, test } from 'vitest';
import { agUiApp } from '../../src/api/http/ag-ui/ag-ui-app.ts';
import { aiSdkApp } from '../../src/api/http/ai-sdk/ai-sdk-app.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { type AgUiEvent, callsOf, openThreads, textOf, user } from './ag-ui-thread.ts';
import { createFrontEndAgent, gates } from './front-end-agent.ts';
import { serveApp } from './served-app.ts';

/** Runs that are resumed, and messages that are stopped late. `DOOR_RESUMES=500 DOOR_STOPS=200` gives the rates of a release. */
const RESUMES = Number(process.env['DOOR_RESUMES'] ?? 36);
const STOPS = Number(process.env['DOOR_STOPS'] ?? 24);
/** Conversations at a time. */
const WIDTH = 12;
const WAIT_MS = 60_000;

let fixture: Fixture;
let agUi: Awaited<ReturnType<typeof serveApp>>;
let chat: Awaited<ReturnType<typeof serveApp>>;
let threads: ReturnType<typeof openThreads>;

beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([createFrontEndAgent()]);
  const options = { authenticate: 'none', clientFor: () => fixture.client, agent: 'guide' } as const;
  agUi = await serveApp(agUiApp(options));
  chat = await serveApp(aiSdkApp(options));
  threads = openThreads(agUi.url);
});
afterAll(async () => {
  await agUi.close();
  await chat.close();
  await fixture.close();
});

/** Tries each number, some of them at a time. @returns what was wrong */
async function countWrong(count: number, attempt: (index: number) => Promise<string | undefined>): Promise<string[]> {
  const left = Array.from({ length: count }, (_, index) => index);
  const wrong: string[] = [];
  const work = async (): Promise<void> => {
    for (let index = left.shift(); index !== undefined; index = left.shift()) {
      const why = await attempt(index).catch((error: unknown) => String(error));
      if (why !== undefined) wrong.push(`${index}: ${why}`);
    }
  };
  await Promise.all(Array.from({ length: WIDTH }, work));
  return wrong;
}

async function readLog(conversation: string): Promise<string[]> {
  const log = await fixture.client.log(conversation);
  return log.map(({ message: { role, content } }) => `${role}: ${content}`);
}

const DECISIONS = [
  { status: 'cancelled' },
  { status: 'resolved', payload: false },
  { status: 'resolved', payload: true },
];
const RESULTS = ['tool: denied: cancelled', 'tool: denied: the call was not approved', 'tool: booked'];

/** How a front-end sends a run: once, twice at once, again after its end, or again after a cut in the middle. */
const SENDINGS: readonly ((body: object) => Promise<AgUiEvent[]>)[] = [
  (body) => threads.run(body),
  async (body) => (await Promise.all([threads.run(body), threads.run(body)]))[1],
  async (body) => {
    await threads.run(body);
    return await threads.run(body);
  },
  async (body) => {
    const leaving = new AbortController();
    const cut = await threads.start(body, leaving.signal);
    await cut.body?.getReader().read();
    leaving.abort();
    return await threads.run(body);
  },
];

/** Resumes an interrupted run, by a decision or a result, with or without a message. */
async function resumeOne(index: number): Promise<string | undefined> {
  const threadId = `resume-${index}`;
  const decision = index % 4;
  const hasMessage = Math.floor(index / 4) % 3 > 0;
  const send = SENDINGS[Math.floor(index / 12) % SENDINGS.length] ?? threads.run;
  const input = decision === 3 ? 'call locate' : 'call book';
  const last = (await threads.run({ threadId, runId: 'r1', messages: [user('m1', input)] })).at(-1);
  const { outcome } = last as unknown as {
    outcome: { interrupts?: { id: string; toolCallId: string }[]; pendingToolCallIds?: string[] };
  };
  const call = outcome.interrupts?.[0]?.toolCallId ?? outcome.pendingToolCallIds?.[0] ?? '';
  const shown = [user('m1', input), callsOf(decision === 3 ? 'locate' : 'book', [call])];
  const message = hasMessage ? [user('m2', 'where is the sea')] : [];
  const result = decision === 3 ? [{ id: 'tool-1', role: 'tool', toolCallId: call, content: 'at home' }] : [];
  const messages = index % 8 < 4 ? [...shown, ...message, ...result] : [...shown, ...result, ...message];
  const resume =
    decision === 3 ? {} : { resume: [{ interruptId: outcome.interrupts?.[0]?.id, ...DECISIONS[decision] }] };
  const events = await send({ threadId, runId: 'r2', messages, ...resume });
  const log = await readLog(threadId);
  const expected = [`user: ${input}`, 'tool: ', ...(hasMessage ? ['user: where is the sea'] : [])];
  const kept = log.filter((line) => !line.startsWith('assistant: '));
  const answer = textOf(events);
  const end = events.at(-1);
  const isRight =
    end?.type === 'RUN_FINISHED' &&
    (end['outcome'] as { type: string }).type === 'success' &&
    (hasMessage ? answer.includes('heard where is the sea') : answer.startsWith('So: ')) &&
    kept.length === expected.length &&
    kept.includes(RESULTS[decision] ?? 'tool: at home') &&
    kept.every((line, at) => line.startsWith(expected[at] ?? 'nothing')) &&
    log.at(-1)?.startsWith('assistant: ') === true;
  return isRight ? undefined : JSON.stringify({ end, answer, log });
}

test(`no resumed AG-UI run loses or repeats a decision, a message or an answer (${RESUMES} runs)`, async () => {
  expect(await countWrong(RESUMES, resumeOne)).toEqual([]);
}, 900_000);

async function stopByPage(protocol: 'chat' | 'ag-ui', conversation: string): Promise<string> {
  const headers = { 'content-type': 'application/json' };
  const stopped =
    protocol === 'chat'
      ? await fetch(`${chat.url}/v1/chat/${conversation}/stop`, {
          method: 'POST',
          headers,
          body: JSON.stringify({ messageId: 'm1' }),
        })
      : await threads.stop({ threadId: conversation, runId: 'm1.1' });
  return ((await stopped.json()) as { readonly state: string }).state;
}

/** Begins a turn whose model stops behind its first word, by a page that reads its stream. */
async function beginHeld(protocol: 'chat' | 'ag-ui', conversation: string) {
  const input = `hold ${conversation}`;
  const response =
    protocol === 'ag-ui'
      ? await threads.start({ threadId: conversation, runId: 'm1.1', messages: [user('m1', input)] })
      : await fetch(`${chat.url}/v1/chat`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-ai-sdk-version': '7' },
          body: JSON.stringify({
            id: conversation,
            messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: input }] }],
          }),
        });
  const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (!text.includes('One ')) text += (await reader.read()).value ?? '';
  const readRest = async (): Promise<string> => {
    for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value;
    return text;
  };
  return { reading: readRest() };
}

/** Stops a message about when its answer ends, with the next message behind it, and once more when it has ended. */
async function stopOne(index: number): Promise<string | undefined> {
  const conversation = `stop-${index}`;
  const protocol = index % 2 === 0 ? 'chat' : 'ag-ui';
  const gate = Promise.withResolvers<void>();
  gates.set(conversation, gate);
  const { reading } = await beginHeld(protocol, conversation);
  await fixture.client.enqueueTurn({ conversation, agent: 'guide', turn: 'm2.1', input: 'hello' });
  if (index % 4 < 2) gate.resolve();
  const state = await stopByPage(protocol, conversation);
  gate.resolve();
  const again = await stopByPage(protocol, conversation);
  const shown = await reading;
  const next = await fixture.client.result(conversation, 'm2.1', { waitMs: WAIT_MS });
  const late = await stopByPage(protocol, conversation);
  const log = await fixture.client.log(conversation);
  const answer = log.find(({ message, turn }) => message.role === 'assistant' && turn === 'm1.1');
  const isRight =
    ['canceled', 'completed'].includes(state) &&
    again === state &&
    late === state &&
    next.state === 'completed' &&
    (answer?.message.stopped === true) === (state === 'canceled') &&
    (answer?.message.content ?? '').startsWith('One ') &&
    next.answer.content.startsWith('heard hello');
  return isRight ? undefined : JSON.stringify({ state, again, late, next, shown, log });
}

test(`no late stop ends another message or loses the text of its own (${STOPS} stops)`, async () => {
  expect(await countWrong(STOPS, stopOne)).toEqual([]);
}, 900_000);

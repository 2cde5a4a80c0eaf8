import { afterAll, beforeAll, expect, test } from 'vitest';
import { agUiApp } from '../../src/api/http/ag-ui/ag-ui-app.ts';
import type { Caller } from '../../src/api/http/index.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { createSharingAgent, gates } from './ag-ui-agent.ts';
import { openThreads, textOf, user } from './ag-ui-thread.ts';
import { serveApp } from './served-app.ts';

let fixture: Fixture;
let server: Awaited<ReturnType<typeof serveApp>>;
let threads: ReturnType<typeof openThreads>;
/** Caller of the next requests. */
let caller: Caller;

const SCOPES = ['read', 'enqueue', 'answer'] as const;
const ANN: Caller = { tenant: '_', scopes: SCOPES, owner: 'ann' };
const BOB: Caller = { tenant: '_', scopes: SCOPES, owner: 'bob' };
const SERVICE: Caller = { tenant: '_', scopes: SCOPES };
const ADMIN: Caller = { tenant: '_', scopes: ['admin'] };

beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([createSharingAgent()]);
  const authenticate = async (): Promise<Caller> => caller;
  server = await serveApp(agUiApp({ authenticate, clientFor: () => fixture.client, agent: 'sharer' }));
  threads = openThreads(server.url);
});
afterAll(async () => {
  await server.close();
  await fixture.close();
});

async function stop(by: Caller, threadId: string, runId: string): Promise<number> {
  caller = by;
  const answer = await threads.stop({ threadId, runId });
  await answer.text();
  return answer.status;
}

/** Runs as ann, and lets the turn answer only after the server has taken the run. */
async function runAsAnn(threadId: string, runId: string): Promise<string> {
  caller = ANN;
  const gate = Promise.withResolvers<void>();
  gates.set(`${threadId}.${runId}`, gate);
  const messages = [user(`m-${runId}`, `hold ${threadId}.${runId}`)];
  const answer = await threads.start({ threadId, runId, messages });
  gate.resolve();
  await answer.text();
  return (await fixture.client.result(threadId, runId)).state;
}

test('an AG-UI stop that is refused ends no later run of the owner', async () => {
  await runAsAnn('of-ann', 'r1');
  expect(await stop(BOB, 'of-ann', 'r2')).toBe(403);
  expect(await runAsAnn('of-ann', 'r2')).toBe('completed');
});

test('an early AG-UI stop ends no run of another owner, who creates the thread afterwards', async () => {
  expect(await stop(BOB, 'not-yet', 'r1')).toBe(404);
  expect(await runAsAnn('not-yet', 'r1')).toBe('completed');
});

test.each([
  ['its owner', ANN],
  ['a service that reaches all owners', SERVICE],
])('an early AG-UI stop by %s ends the run, although another owner sends the same stop', async (_, by) => {
  const threadId = `early-${by.owner ?? 'service'}`;
  expect(await stop(by, threadId, 'r1')).toBe(404);
  expect(await stop(BOB, threadId, 'r1')).toBe(404);
  expect(await runAsAnn(threadId, 'r1')).toBe('canceled');
});

/** A thread with the turns r1, r2 and r3. More entries than a run reads are between r2 and r3. */
async function openLongThread(threadId: string): Promise<void> {
  const turn = async (name: string, input: string): Promise<void> => {
    await fixture.client.enqueueTurn({ conversation: threadId, agent: 'sharer', turn: name, input });
    await fixture.client.result(threadId, name, { waitMs: 60_000 });
  };
  await turn('r1', 'one');
  await turn('r2', 'two');
  const notes = Array.from({ length: 500 }, (_, index) => ({ role: 'assistant' as const, content: `note ${index}` }));
  await fixture.client.append({ conversation: threadId, agent: 'sharer', messages: notes });
  await turn('r3', 'three');
}

const edit = (threadId: string) => ({
  threadId,
  runId: 'r4',
  messages: [user('m1', 'one'), { id: 'r1/1', role: 'assistant', content: 'heard one' }, user('m4', 'four')],
  forwardedProps: { turnfold: { replaces: 'r2/input.3' } },
});

test('an AG-UI edit of an earlier message needs the scope admin, however long the answer to it is', async () => {
  await openLongThread('long');
  caller = SERVICE;
  expect((await threads.run(edit('long'))).at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'forbidden' });
  expect((await fixture.client.context('long')).items.at(-1)?.message.content).toBe('heard three');
  caller = ADMIN;
  expect(textOf(await threads.run(edit('long')))).toBe('heard four');
});

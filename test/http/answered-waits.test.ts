import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROLES, startWorkers } from '../../src/host/start-workers.ts';
import { createTalker, SHARDS } from '../client/fixture.ts';
import { type HttpFixture, openHttpFixture } from './fixture.ts';
import { withProtocols } from './random-requests.ts';

const WAIT_MS = 60_000;

let http: HttpFixture;
let url: string;
beforeAll(async () => {
  http = await openHttpFixture();
  ({ url } = await http.serve(withProtocols(http.client)));
});
afterAll(() => http.close());

async function work() {
  return await startWorkers({ redisUrl: http.url, agents: [createTalker()], roles: ROLES, shards: SHARDS });
}

type AgUiEvent = { readonly type: string } & Readonly<Record<string, unknown>>;

/** Starts a run of AG-UI. @returns its events, once it has ended */
async function run(body: object): Promise<AgUiEvent[]> {
  const answer = await fetch(`${url}/v1/ag-ui`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const frames = (await answer.text()).split('\n\n').filter((frame) => frame.startsWith('data: '));
  return frames.map((frame) => JSON.parse(frame.slice('data: '.length)) as AgUiEvent);
}

interface Interrupted {
  readonly outcome: { readonly interrupts: readonly { readonly id: string; readonly toolCallId: string }[] };
}

/** Runs a tool that needs approval, while workers run, until its run is interrupted. */
async function interrupt(threadId: string): Promise<Interrupted['outcome']['interrupts'][number]> {
  const messages = [{ id: 'm1', role: 'user', content: 'call risk' }];
  const events = await run({ threadId, runId: 'r1', messages });
  const [one] = (events.at(-1) as unknown as Interrupted).outcome.interrupts;
  if (one === undefined) throw new Error(`no interrupt: ${JSON.stringify(events.at(-1))}`);
  return one;
}

test('a turn whose calls are all decided is shown as queued to every reader before a worker takes the turn', async () => {
  const { client } = http;
  const workers = await work();
  const { toolCallId } = await interrupt('decided');
  await workers.close();
  await client.answer('decided', 'r1', { [toolCallId]: { approved: true } });
  const view = await client.result('decided', 'r1');
  expect([view.state, view.waiting]).toEqual(['queued', undefined]);
  const [open] = (await client.openTurns('decided')).turns;
  expect([open?.state, open?.waiting]).toEqual(['queued', undefined]);
  expect((await client.waiting()).turns).toEqual([]);
  expect((await client.conversations({ state: 'waiting' })).conversations).toEqual([]);
  const [listed] = (await client.conversations({ state: 'queued' })).conversations;
  expect(listed).toMatchObject({ conversation: 'decided', state: 'queued' });
  expect(listed).not.toHaveProperty('waitsFor');
  // A repeated answer changes nothing, and a contrary one is still refused with the decision that counts.
  await client.answer('decided', 'r1', { [toolCallId]: { approved: true } });
  await expect(client.answer('decided', 'r1', { [toolCallId]: { approved: false } })).rejects.toMatchObject({
    code: 'conflict',
    details: { decision: { approved: true } },
  });
  const again = await work();
  expect(await client.result('decided', 'r1', { waitMs: WAIT_MS })).toMatchObject({
    state: 'completed',
    answer: { content: 'risked' },
  });
  await again.close();
});

test.each([
  ['approves', { status: 'resolved', payload: { approved: true } }],
  ['denies', { status: 'resolved', payload: false }],
  ['cancels', { status: 'cancelled' }],
])(
  'a run that %s continues to the answer of the agent, although no worker was free when the call was decided',
  async (kind, decision) => {
    const workers = await work();
    const { id } = await interrupt(kind);
    await workers.close();
    const resumed = run({ threadId: kind, runId: 'r2', messages: [], resume: [{ interruptId: id, ...decision }] });
    await expect.poll(async () => (await http.client.result(kind, 'r1')).state, { timeout: WAIT_MS }).toBe('queued');
    const again = await work();
    expect((await resumed).at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' } });
    await again.close();
  },
);

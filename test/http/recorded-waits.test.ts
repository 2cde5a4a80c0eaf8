import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { agUiApp } from '../../src/api/http/ag-ui/ag-ui-app.ts';
import { aiSdkApp } from '../../src/api/http/ai-sdk/ai-sdk-app.ts';
import { responsesApp } from '../../src/api/http/responses/responses-app.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { createFrontEndAgent } from './front-end-agent.ts';

/** Fields of a chunk, an event or an item that the tests read. */
interface Json {
  readonly id?: string;
  readonly type?: string;
  readonly code?: string;
  readonly approvalId?: string;
  readonly toolCallId?: string;
  readonly call_id?: string;
  readonly input?: unknown;
  readonly metadata?: unknown;
  readonly outcome?: { readonly interrupts?: readonly Json[] };
}

interface OpenResponse {
  readonly id: string;
  readonly output: readonly Json[];
}

let fixture: Fixture;
let apps: {
  readonly chat: ReturnType<typeof aiSdkApp>;
  readonly run: typeof apps.chat;
  readonly create: typeof apps.chat;
};

beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([createFrontEndAgent()]);
  const options = { clientFor: () => fixture.client, agent: 'guide', authenticate: 'none' } as const;
  apps = { chat: aiSdkApp(options), run: agUiApp(options), create: responsesApp(options) };
});
afterAll(() => fixture.close());

async function send(
  app: typeof apps.chat,
  path: string,
  body?: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const init = body && { method: 'POST', body: JSON.stringify(body) };
  return await app.request(path, { ...init, headers: { 'content-type': 'application/json', ...headers } });
}

async function readEvents(response: Response): Promise<Json[]> {
  const frames = (await response.text()).split('\n').filter((line) => line.startsWith('data: {'));
  return frames.map((line) => JSON.parse(line.slice(6)) as Json);
}

/** Erases the conversation and starts its turn again, which then waits for another call with the same ids. */
async function startAgain(conversation: string, turn: string, input: string): Promise<void> {
  await fixture.client.erase(conversation);
  await fixture.client.enqueueTurn({ conversation, turn, agent: 'guide', input });
  await expect.poll(async () => (await fixture.client.result(conversation, turn)).state).toBe('waiting');
}

async function stateOf(conversation: string, turn: string): Promise<string> {
  return (await fixture.client.result(conversation, turn)).state;
}

describe('a chat of the AI SDK', () => {
  const HEADERS = { 'x-ai-sdk-version': '7' };
  const ask = async (id: string, text: string, version = '7'): Promise<Json[]> => {
    const messages = [{ id: 'm1', role: 'user', parts: [{ type: 'text', text }] }];
    return await readEvents(await send(apps.chat, '/v1/chat', { id, messages }, { 'x-ai-sdk-version': version }));
  };
  /** Sends the assistant message with these answered calls. */
  const answer = async (id: string, calls: readonly object[]): Promise<Response> => {
    const parts = [{ type: 'step-start' }, ...calls.map((call) => ({ type: 'dynamic-tool', ...call }))];
    return await send(apps.chat, '/v1/chat', { id, messages: [{ id: 'm1.1', role: 'assistant', parts }] }, HEADERS);
  };
  const requestsOf = (chunks: readonly Json[]) => chunks.filter(({ type }) => type === 'tool-approval-request');

  test('a chat shows the input that the tool will get before it asks for the approval', async () => {
    const chunks = await ask('rw-chat-input', 'call pay');
    const inputs = chunks.filter(({ type }) => type === 'tool-input-available').map(({ input }) => input);
    expect(inputs).toEqual([{ place: 'here' }, { place: 'house here' }]);
    const [request] = requestsOf(chunks);
    const approval = { id: request?.approvalId, approved: true };
    const call = { toolCallId: request?.toolCallId, toolName: 'pay', state: 'approval-responded', approval };
    const answered = await readEvents(await answer('rw-chat-input', [call]));
    expect(answered).toContainEqual(expect.objectContaining({ type: 'tool-output-available', output: 'house here' }));
  });

  test('a chat refuses the approval of a call of an erased conversation', async () => {
    const [request] = requestsOf(await ask('rw-chat-erased', 'call book'));
    await startAgain('rw-chat-erased', 'm1.1', 'call book');
    const approval = { id: request?.approvalId, approved: true };
    const call = { toolCallId: request?.toolCallId, toolName: 'book', state: 'approval-responded', approval };
    const refused = await answer('rw-chat-erased', [call]);
    expect([refused.status, ((await refused.json()) as Json).code]).toEqual([409, 'conflict']);
    expect(await stateOf('rw-chat-erased', 'm1.1')).toBe('waiting');
  });

  test('a chat refuses the result of another call with the same id', async () => {
    const asked = await ask('rw-chat-result', 'call locate');
    const made = asked.find(({ type }) => type === 'tool-input-available');
    const shown = { toolCallId: made?.toolCallId, toolName: 'locate', state: 'output-available', output: 'here' };
    for (const other of [{ input: { place: 'there' } }, { input: made?.input, toolName: 'find' }]) {
      expect((await answer('rw-chat-result', [{ ...shown, ...other }])).status).toBe(409);
    }
    expect(await stateOf('rw-chat-result', 'm1.1')).toBe('waiting');
    expect((await answer('rw-chat-result', [{ ...shown, input: made?.input }])).status).toBe(200);
  });

  test('a reloaded chat page marks decided calls, and refuses a contrary decision', async () => {
    const id = 'rw-chat-decided';
    const [first, second] = requestsOf(await ask(id, 'call book,pay'));
    await fixture.client.answer(id, 'm1.1', { [first?.toolCallId ?? '']: { approved: false } });
    const resume = async (version: string) =>
      await readEvents(await send(apps.chat, `/v1/chat/${id}/stream`, undefined, { 'x-ai-sdk-version': version }));
    expect(await resume('7')).toContainEqual({
      type: 'tool-approval-response',
      approvalId: first?.approvalId,
      approved: false,
    });
    expect(await resume('6')).toContainEqual({ type: 'tool-output-denied', toolCallId: first?.toolCallId });
    expect(await resume('5')).toContainEqual(
      expect.objectContaining({
        data: expect.objectContaining({ decision: expect.objectContaining({ approved: false }) }),
      }),
    );
    const decide = (request: Json | undefined, approved: boolean) => ({
      toolCallId: request?.toolCallId,
      state: 'approval-responded',
      approval: { id: request?.approvalId, approved },
    });
    expect((await answer(id, [decide(first, true), decide(second, true)])).status).toBe(409);
    expect((await answer(id, [decide(first, false), decide(second, true)])).status).toBe(200);
  });
});

describe('a thread of AG-UI', () => {
  const run = async (threadId: string, body: object): Promise<Json[]> =>
    await readEvents(await send(apps.run, '/v1/ag-ui', { threadId, runId: 'r1', messages: [], ...body }));
  const begin = async (threadId: string, content: string): Promise<readonly Json[]> =>
    (await run(threadId, { messages: [{ id: 'm', role: 'user', content }] })).at(-1)?.outcome?.interrupts ?? [];
  const resume = (interrupt: Json | undefined, payload = true) => ({
    interruptId: interrupt?.id,
    status: 'resolved',
    payload,
  });

  test('an AG-UI interrupt shows the input that the tool will get, not the input that the model wrote', async () => {
    const [interrupt] = await begin('rw-ag-input', 'call pay');
    expect(interrupt?.metadata).toEqual({ name: 'pay', input: '{"place":"house here"}' });
  });

  test('an AG-UI thread refuses to resume an interrupt of an erased conversation', async () => {
    const [interrupt] = await begin('rw-ag-erased', 'call book');
    await startAgain('rw-ag-erased', 'r1', 'call book');
    const refused = await run('rw-ag-erased', { runId: 'r2', resume: [resume(interrupt)] });
    expect(refused.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'conflict' });
    expect(await stateOf('rw-ag-erased', 'r1')).toBe('waiting');
  });

  test('an AG-UI thread refuses the result of another call with the same id', async () => {
    await run('rw-ag-result', { messages: [{ id: 'm', role: 'user', content: 'call locate' }] });
    const call = (await fixture.client.result('rw-ag-result', 'r1')).waiting?.calls[0];
    const answer = async (written: string): Promise<Json | undefined> => {
      const made = { id: call?.id, type: 'function', function: { name: 'locate', arguments: written } };
      const messages = [
        { id: 'r1/1', role: 'assistant', content: '', toolCalls: [made] },
        { id: 'x', role: 'tool', toolCallId: call?.id, content: 'here' },
      ];
      return (await run('rw-ag-result', { runId: 'r2', messages })).at(-1);
    };
    expect(await answer('{"place":"there"}')).toMatchObject({ type: 'RUN_ERROR', code: 'conflict' });
    expect(await answer('{"place":"here"}')).toMatchObject({ type: 'RUN_FINISHED' });
  });

  test('an AG-UI thread asks only for the calls without a decision', async () => {
    const [first, second] = await begin('rw-ag-decided', 'call book,pay');
    await fixture.client.answer('rw-ag-decided', 'r1', { [first?.toolCallId ?? '']: { approved: false } });
    expect(await begin('rw-ag-decided', 'call book,pay')).toMatchObject([{ id: second?.id }]);
    const contrary = await run('rw-ag-decided', { runId: 'r2', resume: [resume(first), resume(second)] });
    expect(contrary.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'conflict' });
    const ended = await run('rw-ag-decided', { runId: 'r2', resume: [resume(second)] });
    expect(ended.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' } });
  });
});

describe('a response of Open Responses', () => {
  const create = async (body: object): Promise<OpenResponse> =>
    (await (await send(apps.create, '/v1/responses', body)).json()) as OpenResponse;
  const ask = async (conversation: string, input: string): Promise<OpenResponse> =>
    await create({ conversation, input });
  const approve = (request: Json | undefined) => ({
    type: 'mcp_approval_response',
    approval_request_id: request?.id,
    approve: true,
  });

  test('the approval request of a response shows the input that the tool will get', async () => {
    const { output } = await ask('rw-or-input', 'call pay');
    expect(output.at(-1)).toMatchObject({ type: 'mcp_approval_request', arguments: '{"place":"house here"}' });
  });

  test.each([
    ['book', approve],
    ['locate', (item: Json | undefined) => ({ type: 'function_call_output', call_id: item?.call_id, output: 'here' })],
  ])('Open Responses refuses an answer to a call of %s of an erased conversation', async (tool, answerOf) => {
    const conversation = `rw-or-erased-${tool}`;
    const { id, output } = await ask(conversation, `call ${tool}`);
    const turn = id.split('~')[1] ?? '';
    await startAgain(conversation, turn, `call ${tool}`);
    const refused = await create({ previous_response_id: id, input: [answerOf(output.at(-1))] });
    expect(refused).toMatchObject({ error: { code: 'conflict' } });
    expect(await stateOf(conversation, turn)).toBe('waiting');
  });

  test('a response shows the decision of a decided call', async () => {
    const { id, output } = await ask('rw-or-decided', 'call book,pay');
    const requests = output.filter(({ type }) => type === 'mcp_approval_request');
    const call = /~(c\d+_\d+)\./.exec(String(requests[0]?.id))?.[1] ?? '';
    await fixture.client.answer('rw-or-decided', id.split('~')[1] ?? '', { [call]: { approved: false } });
    const read = (await (await send(apps.create, `/v1/responses/${id}`)).json()) as OpenResponse;
    expect(read.output).toContainEqual({
      id: expect.any(String),
      type: 'mcp_approval_response',
      approval_request_id: requests[0]?.id,
      approve: false,
    });
    const contrary = await create({ previous_response_id: id, input: requests.map(approve) });
    expect(contrary).toMatchObject({ error: { code: 'conflict' } });
  });
});

import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ContextFor } from '../../src/api/http/index.ts';
import { createProtocols } from '../../src/api/http/protocols.ts';
import { scriptedModel } from '../../src/providers/scripted.ts';
import { type HttpFixture, openHttpFixture, send } from './fixture.ts';

let http: HttpFixture;
beforeAll(async () => {
  http = await openHttpFixture();
  const model = scriptedModel({ decide: ({ system }) => ({ content: system }) });
  const system = (context: object): string => JSON.stringify(context);
  await http.startWorkers([{ name: 'guide', system, model, tools: [], policy: {} }]);
});
afterAll(() => http.close());

const plan: ContextFor = (request, { tenant }) => ({ plan: request.headers.get('x-plan') ?? 'free', tenant });
const headers = { 'x-plan': 'pro' };

async function serve(contextFor: ContextFor, onError?: (error: unknown) => void): Promise<string> {
  const protocols = createProtocols({ client: http.client, agent: 'guide' });
  const { url } = await http.serve({ contextFor, protocols, ...(onError && { onError }) });
  return url;
}

async function answerOf(conversation: string, turn: string): Promise<string | undefined> {
  return (await http.client.result(conversation, turn, { waitMs: 60_000 })).answer?.content;
}

test('a turn that begins by POST without context gets the context data of contextFor', async () => {
  const url = await serve(plan);
  const body = { agent: 'guide', input: 'hi', turn: 't1' };
  await send(`${url}/v1/conversations/posted/turns`, 'POST', { body, headers });
  expect(await answerOf('posted', 't1')).toBe('{"plan":"pro","tenant":"_"}');
});

test('a turn of a list without context gets that of contextFor, and a turn with context keeps its own', async () => {
  const url = await serve(plan);
  const turns = [
    { conversation: 'listed', agent: 'guide', input: 'hi', turn: 't1' },
    { conversation: 'listed', agent: 'guide', input: 'hi', turn: 't2', context: { plan: 'own' } },
  ];
  await send(`${url}/v1/turns`, 'POST', { body: { turns }, headers });
  expect(await answerOf('listed', 't1')).toBe('{"plan":"pro","tenant":"_"}');
  expect(await answerOf('listed', 't2')).toBe('{"plan":"own"}');
});

test('a turn that begins by the protocol of the AI SDK gets the context data of contextFor', async () => {
  const url = await serve(plan);
  const messages = [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'hi' }] }];
  const body = { id: 'chatted', messages, trigger: 'submit-message' };
  await (
    await fetch(`${url}/v1/chat`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-ai-sdk-version': '7', ...headers },
      body: JSON.stringify(body),
    })
  ).text();
  expect((await http.client.log('chatted')).at(-1)?.message.content).toBe('{"plan":"pro","tenant":"_"}');
});

test.each<[string, ContextFor]>([
  ['throws an error', () => Promise.reject(new Error('the password is hunter2'))],
  ['returns a list', () => [] as never],
  ['returns 20 KiB', () => ({ text: 'hunter2'.repeat(3_000) })],
])('a request answers 500 without the cause if contextFor %s', async (_, contextFor) => {
  const errors: unknown[] = [];
  const url = await serve(contextFor, (error) => errors.push(error));
  const body = { agent: 'guide', input: 'hi', turn: 't1' };
  const answer = await send(`${url}/v1/conversations/failed/turns`, 'POST', { body });
  expect(answer.status).toBe(500);
  expect(JSON.stringify(answer.body)).not.toContain('hunter2');
  expect(errors).toHaveLength(1);
  await expect(http.client.result('failed', 't1')).rejects.toMatchObject({ code: 'not_found' });
});

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { authenticateByKey, type HttpLimits } from '../../src/api/http/index.ts';
import { openMcpProtocols } from '../../src/cli/commands/mcp.ts';
import { createMcpProtocol } from '../../src/cli/mcp/mcp-protocol.ts';
import type { Scope } from '../../src/domain/access-key.ts';
import { scriptedModel } from '../../src/providers/scripted.ts';
import { serveClient } from '../client/over-http.ts';
import { useOwnWorkers } from './own-workers.ts';

const ASK = 'ask_helper';
let gate = Promise.withResolvers<void>();
const own = useOwnWorkers({
  name: 'helper',
  system: '',
  policy: {},
  tools: [{ name: 'ask', description: '', input: z.object({}) }],
  model: scriptedModel({
    decide: async ({ messages }) => {
      const last = messages.at(-1);
      if (last?.content === 'hold') await gate.promise;
      if (last?.content === 'ask') return { toolCalls: [{ name: 'ask', arguments: {} }] };
      return { content: `you said ${last?.content}` };
    },
  }),
});

/** Serves as `turnfold serve --keys --mcp helper` does. */
async function serve(limits: HttpLimits = {}): Promise<URL> {
  const { client } = own;
  const protocols = [createMcpProtocol({ client, agents: ['helper'], programVersion: '1' })];
  const { url, stop } = await serveClient(client, {
    authenticate: authenticateByKey(client.keys),
    protocols,
    limits,
  });
  onTestFinished(stop);
  return new URL('/mcp', url);
}

async function connect(url: URL, token: string, mode: 'auto' | 'legacy' = 'auto'): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
  onTestFinished(() => client.close());
  return client;
}

async function createKey(tenant: string, ...scopes: Scope[]): Promise<string> {
  return (await own.client.keys.create({ tenant, scopes })).token;
}

async function call(client: Client, name: string, input: Record<string, unknown> = {}): Promise<string> {
  const { content } = await client.callTool({ name, arguments: input });
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
}

describe.for(['auto', 'legacy'] as const)('MCP of turnfold serve with keys, protocol %s', (mode) => {
  test('a key reads and writes only in its tenant', async () => {
    const url = await serve();
    const [one, other] = [`one-${mode}`, `other-${mode}`];
    const client = await connect(url, await createKey(one, 'read', 'enqueue'), mode);
    expect(await call(client, ASK, { message: 'hello', conversation: 'c1' })).toBe('you said hello');
    expect(await own.client.describe({ tenant: one, conversation: 'c1' })).toMatchObject({ agent: 'helper' });
    const stranger = await connect(url, await createKey(other, 'read'), mode);
    expect(await call(stranger, 'describe', { conversation: 'c1' })).toContain('not_found');
    expect(JSON.parse(await call(stranger, 'list_conversations'))).toEqual({ conversations: [] });
    expect(JSON.parse(await call(client, 'list_conversations'))).toMatchObject({
      conversations: [{ conversation: 'c1' }],
    });
  });

  test('tools that write need the scopes of their routes', async () => {
    const url = await serve();
    const reader = await connect(url, await createKey(`scopes-${mode}`, 'read'), mode);
    const { tools } = await reader.listTools();
    expect(tools.map(({ name }) => name)).not.toContain(ASK);
    const writer = await connect(url, await createKey(`scopes-${mode}`, 'read', 'enqueue'), mode);
    const waiting = await writer.callTool({ name: ASK, arguments: { message: 'ask', conversation: 'c1' } });
    const { turn } = waiting.structuredContent as { turn: string };
    const answer = { conversation: 'c1', turn, call: 'c2_0', content: 'a result' };
    expect(await call(writer, 'answer', answer)).toContain('access_denied: authorization: this tool needs a key');
    const both = await connect(url, await createKey(`scopes-${mode}`, 'read', 'enqueue', 'answer'), mode);
    expect(await call(both, 'answer', answer)).toBe('answered');
    expect(await call(both, 'result', { conversation: 'c1', turn })).toBe('you said a result');
  });

  test('a token of one conversation reaches only this conversation', async () => {
    const url = await serve();
    const tenant = `token-${mode}`;
    for (const conversation of ['c1', 'c2']) {
      await own.client.append({ tenant, conversation, agent: 'helper', messages: [{ role: 'user', content: 'hi' }] });
    }
    const { token } = await own.client.createConversationToken(
      { tenant, conversation: 'c1' },
      { scopes: ['read'], expiresInMs: 60_000 },
    );
    const client = await connect(url, token, mode);
    expect(await call(client, 'read_log', { conversation: 'c1', from: 1, to: 1 })).toContain('"text":"hi"');
    expect(await call(client, 'read_log', { conversation: 'c2', from: 1, to: 1 })).toContain('access_denied');
    expect(await call(client, 'list_conversations')).toContain('forbidden');
  });
});

test('MCP of turnfold serve refuses a request without a key, and a body that is no JSON', async () => {
  const url = await serve();
  const send = async (headers: Record<string, string>, body: string) => {
    const type = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    return (await fetch(url, { method: 'POST', headers: { ...type, ...headers }, body })).status;
  };
  expect(await send({}, '{}')).toBe(401);
  const authorization = `Bearer ${await createKey('bodies', 'read')}`;
  expect(await send({ authorization }, '{')).toBe(422);
  expect(await send({ authorization }, '')).toBe(422);
  expect(await send({ authorization }, '[]')).toBe(400);
  expect((await fetch(url, { headers: { authorization } })).status).toBe(405);
});

test('MCP of turnfold serve refuses a batch of calls, and runs none of them', async () => {
  const url = await serve();
  const tenant = 'batches';
  const input = (id: number) => ({ message: 'hello', conversation: `c${id}` });
  const calls = [1, 2].map((id) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: ASK, arguments: input(id) },
  }));
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    authorization: `Bearer ${await createKey(tenant, 'read', 'enqueue')}`,
  };
  const refused = await fetch(url, { method: 'POST', headers, body: JSON.stringify(calls) });
  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject({ error: { code: -32_600, message: expect.stringContaining('batch') } });
  expect(await own.client.conversations({ tenant })).toEqual({ conversations: [] });
});

test('tools of MCP that read a whole context get memory from that of the server for large answers', async () => {
  const url = await serve({ answerMemoryBytes: 1_000_000 });
  const tenant = 'large';
  const content = 'and so on '.repeat(100_000);
  const messages = Array.from({ length: 2 }, () => ({ role: 'user' as const, content }));
  await own.client.append({ tenant, conversation: 'c1', agent: 'helper', messages });
  const client = await connect(url, await createKey(tenant, 'read'));
  for (const [name, input] of Object.entries({
    show_version: {},
    search_log: { text: 'so' },
    outline: {},
    breakdown: {},
    plan: {},
  })) {
    expect(await call(client, name, { conversation: 'c1', ...input }), name).toContain('message_too_large');
  }
  expect(await call(client, 'describe', { conversation: 'c1' })).toContain('"agent":"helper"');
  expect(JSON.parse(await call(client, 'read_log', { conversation: 'c1', from: 1, to: 2 }))).toMatchObject({
    messages: [{ seq: 1 }, { seq: 2 }],
  });
});

test.for(['auto', 'legacy'] as const)(
  'an open call to MCP of turnfold serve ends when its key is revoked, and its turn goes on, protocol %s',
  async (mode) => {
    gate = Promise.withResolvers();
    const url = await serve();
    const tenant = `revoked-${mode}`;
    const { token, key } = await own.client.keys.create({ tenant, scopes: ['read', 'enqueue'] });
    const client = await connect(url, token, mode);
    const conversation = { tenant, conversation: 'c1' };
    const ended = client.callTool({ name: ASK, arguments: { message: 'hold', conversation: 'c1' } }).then(
      ({ isError, content }) => (isError === true ? 'refused' : JSON.stringify(content)),
      (error: Error) => error.message,
    );
    await expect
      .poll(async () => (await own.client.openTurns(conversation).catch(() => undefined))?.turns)
      .toHaveLength(1);
    const [open] = (await own.client.openTurns(conversation)).turns;
    await own.client.keys.revoke(key.id);
    expect(await ended).toMatch(/the key of this request ended|the access key is not accepted/);
    gate.resolve();
    const view = await own.client.result(conversation, open?.turn ?? '', { waitMs: 60_000 });
    expect(view.answer?.content).toBe('you said hold');
  },
);

test('two agents whose tools would have one name are refused', async () => {
  await expect(openMcpProtocols(own.client, 'a.b,a_b')).rejects.toMatchObject({ field: '--agents' });
});

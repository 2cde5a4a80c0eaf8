import { fileURLToPath } from 'node:url';
import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { serveHttp } from '../../src/api/http/serve-http.ts';
import { createMcpApp } from '../../src/cli/mcp/server.ts';
import type { Agent } from '../../src/domain/agent.ts';
import { scriptedModel } from '../../src/providers/scripted.ts';
import { serveClient } from '../client/over-http.ts';
import { useOwnWorkers } from './own-workers.ts';

/** Calls the tool that the input names, and repeats its result. Any other input is answered at once. */
const agent: Agent = {
  name: 'shop.support',
  system: '',
  tools: [
    { name: 'elsewhere', description: '', input: z.object({}) },
    { name: 'guarded', description: '', input: z.object({}), needsApproval: true, run: async () => 'it ran' },
    {
      name: 'slow',
      description: '',
      input: z.object({}),
      run: async (_, { progress }) => {
        progress({ text: 'half', done: 1, total: 2 });
        await heard.promise;
        return 'slowly';
      },
    },
  ],
  policy: { maxTokens: 2_000, retentionWindow: 2 },
  model: scriptedModel({
    decide: ({ messages }) => {
      const last = messages.at(-1);
      if (last?.role === 'tool') return { content: `heard: ${last.content}` };
      const names = ['elsewhere', 'guarded', 'slow'];
      return names.includes(last?.content ?? '')
        ? { toolCalls: [{ name: last?.content ?? '', arguments: {} }] }
        : { content: `you said ${last?.content}` };
    },
  }),
};
let heard = Promise.withResolvers<void>();

const own = useOwnWorkers(agent);
const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
const ASK = 'ask_shop_support';

/** `auto` speaks the newest protocol, `legacy` the one before. */
const ERAS = ['auto', 'legacy'] as const;

async function connect(
  mode: (typeof ERAS)[number],
  { args = [], env = { REDIS_URL: own.redisUrl }, ...options }: ConnectOptions = {},
): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode }, ...options });
  onTestFinished(() => client.close());
  const command = { command: process.execPath, args: [MAIN, 'mcp', ...args] };
  await client.connect(new StdioClientTransport({ ...command, env: { PATH: process.env['PATH'] ?? '', ...env } }));
  return client;
}

interface ConnectOptions extends ClientOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

async function call(client: Client, name: string, input: Record<string, unknown>): Promise<string> {
  const { content } = await client.callTool({ name, arguments: input });
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
}

const POLL = { timeout: 60_000 };
const WITH_AGENT = ['--agents', agent.name];

describe.for(ERAS)('turnfold mcp over standard input and output, protocol %s', (era) => {
  test('a coding agent finds when a conversation lost a word, and reads what the version did', async () => {
    const conversation = `lost-${era}`;
    const filler = Array.from({ length: 30 }, (_, at) => ({
      role: at % 2 === 0 ? 'user' : 'assistant',
      content: at === 1 ? 'the falcon flies at noon' : `${at} ${'talk '.repeat(200)}`,
    }));
    await own.client.append({ conversation, agent: agent.name, messages: filler });
    await own.client.enqueueTurn({ conversation, agent: agent.name, turn: 't1', input: 'go on' });
    await own.client.result(conversation, 't1', { waitMs: 60_000 });
    await own.client.compact(conversation);
    await expect.poll(() => own.client.versions(conversation), { timeout: 60_000 }).not.toHaveLength(0);
    const client = await connect(era);
    const { tools } = await client.listTools();
    expect(tools.every(({ annotations }) => annotations?.readOnlyHint === true)).toBe(true);
    expect(await call(client, 'list_conversations', { idContains: conversation })).toContain(agent.name);
    const found = JSON.parse(await call(client, 'search_log', { conversation, text: 'FALCON noon' })) as {
      matches: { seq: number; state: string; by?: number }[];
    };
    expect(found.matches).toMatchObject([{ seq: 2, text: expect.stringContaining('falcon flies') as string }]);
    expect(found.matches[0]?.state).not.toBe('live');
    // The summary of these messages still says the words.
    expect(found).toMatchObject({ searched: 32, hasMore: false, modelReads: [{ from: 1, to: 29 }] });
    const versions = JSON.parse(await call(client, 'versions', { conversation })) as { version: number }[];
    const version = versions.at(-1)?.version ?? 0;
    expect(found.matches[0]?.by).toBe(version);
    for (const [name, input] of Object.entries({
      describe: {},
      breakdown: {},
      outline: { limit: 3 },
      read_log: { from: 2, to: 2 },
      show_version: { version },
      compare: { before: 0, after: version },
      report: { version, find: 'falcon' },
      plan: {},
      turn_steps: { turn: 't1' },
      show_turn: { turn: 't1' },
      list_open_turns: {},
    })) {
      expect(await call(client, name, { conversation, ...input }), name).toMatch(/^[[{]/);
    }
    expect(await call(client, 'read_log', { conversation, from: 2, to: 2 })).toContain('the falcon flies at noon');
    for (const name of ['list_agents', 'list_failed_turns', 'list_waiting_turns']) {
      expect(await call(client, name, {}), name).toMatch(/^[[{]/);
    }
    const { messages } = await client.getPrompt({ name: 'why_forgotten', arguments: { conversation, text: 'falcon' } });
    expect(messages).toMatchObject([{ content: { text: expect.stringContaining('search_log') as string } }]);
    const missing = await client.callTool({ name: 'describe', arguments: { conversation: 'nowhere' } });
    expect(missing).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('not_found') as string }],
    });
  });

  test('an agent is a tool, whose question for an approval reaches the person at the client', async () => {
    const client = await connect(era, { args: WITH_AGENT, capabilities: { elicitation: { form: {} } } });
    const questions: string[] = [];
    client.setRequestHandler('elicitation/create', ({ params }) => {
      questions.push(params.message);
      return { action: 'accept', content: { approve: questions.length === 1, why: 'no' } };
    });
    expect(await call(client, ASK, { message: 'hello' })).toBe('you said hello');
    expect(await call(client, ASK, { message: 'guarded' })).toBe('heard: it ran');
    expect(await call(client, ASK, { message: 'guarded' })).toBe('heard: denied: no');
    expect(questions).toEqual(['May the agent run guarded({})?', 'May the agent run guarded({})?']);
  });

  test('a person decides on an approval that `result` finds, and the coding agent cannot approve it itself', async () => {
    const client = await connect(era, { args: WITH_AGENT, capabilities: { elicitation: { form: {} } } });
    const conversation = `decided-${era}`;
    await own.client.enqueueTurn({ conversation, agent: agent.name, turn: 't1', input: 'guarded' });
    await expect.poll(async () => (await own.client.result(conversation, 't1')).state, POLL).toBe('waiting');
    const actions = ['cancel', 'accept'] as const;
    let asked = 0;
    client.setRequestHandler('elicitation/create', () => {
      const action = actions[asked] ?? 'cancel';
      asked += 1;
      return { action, ...(action === 'accept' && { content: { approve: true } }) };
    });
    const turn = { conversation, turn: 't1' };
    const approved = await client.callTool({ name: 'answer', arguments: { ...turn, call: 'c2_0', approve: true } });
    expect(approved).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('a person') as string }],
    });
    expect(await call(client, 'result', turn), 'closed').toContain('waits for approval');
    expect(await call(client, 'result', turn)).toBe('heard: it ran');
    expect(asked).toBe(2);
  });

  test('a client answers and cancels only turns of the listed agents', async () => {
    const client = await connect(era, { args: ['--agents', 'other'] });
    const conversation = `foreign-${era}`;
    await own.client.enqueueTurn({ conversation, agent: agent.name, turn: 't1', input: 'guarded' });
    const turn = { conversation, turn: 't1' };
    for (const [name, input] of [
      ['answer', { ...turn, call: 'c2_0', approve: true }],
      ['cancel', turn],
      ['result', turn],
    ] as const) {
      expect(await call(client, name, input), name).toContain('access_denied: turn: the turn belongs to the agent');
    }
    expect(await call(client, 'show_turn', turn)).toContain('shop.support');
    await own.client.cancel(conversation, 't1');
  });

  test('wrong arguments are errors that name the field, and begin no turn', async () => {
    const client = await connect(era, { args: WITH_AGENT });
    const conversation = `wrong-${era}`;
    const turn = { conversation, turn: 't1', call: 'c2_0' };
    for (const [name, input, field] of [
      ['list_conversations', { agnet: 'a' }, 'agnet'],
      ['read_log', { conversation, from: 3, to: 2 }, 'to'],
      ['search_log', { conversation, text: '' }, 'text'],
      [ASK, { message: 'hello', conversation: 'a/b' }, 'conversation'],
      [ASK, { message: 'hello', wait: 3 }, 'wait'],
      ['answer', turn, 'approve'],
      ['nothing', {}, 'nothing'],
    ] as const) {
      const answered = await client.callTool({ name, arguments: input }).catch((error: Error) => error);
      const isRefused = answered instanceof Error || answered.isError === true;
      expect([name, isRefused]).toEqual([name, true]);
      expect(answered instanceof Error ? answered.message : JSON.stringify(answered)).toContain(field);
    }
    for (const input of [
      { approve: true, content: 'both' },
      { approve: true, isError: true },
      { content: 'a', why: 'b' },
    ]) {
      await own.client.enqueueTurn({ conversation, agent: agent.name, turn: 't1', input: 'elsewhere' });
      expect(await call(client, 'answer', { ...turn, ...input })).toContain('invalid_input');
    }
    await own.client.cancel(conversation, 't1');
  });

  test('a call with the idempotency key of turnfold begins one turn, however often it is sent', async () => {
    const client = await connect(era, { args: WITH_AGENT });
    const key = { ['turnfold/idempotencyKey']: `caller-${era}/t1/c2_0` };
    const send = async (message: string) => {
      const { content } = await client.callTool({ name: ASK, arguments: { message }, ['_meta']: key });
      return content;
    };
    const answers = [await send('once'), await send('once')];
    expect(answers).toMatchObject([[{ text: 'you said once' }], [{ text: 'you said once' }]]);
    expect(await send('another message')).toMatchObject([{ text: expect.stringContaining('conflict') as string }]);
  });

  test('a long message is read in pages, and a result is JSON whatever its size', async () => {
    const conversation = `long-${era}`;
    const text = `start ${'"quoted" '.repeat(20_000)}end`;
    const messages = Array.from({ length: 40 }, (_, at) => ({
      role: at % 2 === 0 ? 'user' : 'assistant',
      content: text,
    }));
    await own.client.append({ conversation, agent: agent.name, messages: messages.slice(0, 2) });
    await own.client.append({ conversation, agent: agent.name, messages: messages.slice(2) });
    const client = await connect(era);
    const read = async (name: string, input: object): Promise<Record<string, unknown>> => {
      const json = await call(client, name, { conversation, ...input });
      expect(json.length).toBeLessThanOrEqual(60_000);
      return JSON.parse(json) as Record<string, unknown>;
    };
    let whole = '';
    for (let offset: unknown = 0; offset !== undefined; ) {
      const page = await read('read_message', { seq: 1, offset });
      whole += String(page['text']);
      offset = page['next'];
    }
    expect(whole).toBe(text);
    const seqs: unknown[] = [];
    for (let from: unknown = 1; from !== undefined; ) {
      const page = await read('read_log', { from, to: 40 });
      seqs.push(...(page['messages'] as { seq: number }[]).map(({ seq }) => seq));
      from = page['next'];
    }
    expect(seqs).toEqual(Array.from({ length: 40 }, (_, at) => at + 1));
    const shown: unknown[] = [];
    for (let after: unknown = 0; after !== undefined; ) {
      const page = await read('show_version', { after });
      shown.push(...(page['messages'] as { from: number }[]).map(({ from }) => from));
      after = page['next'];
    }
    expect(shown).toEqual([...new Set(shown)]);
    expect(shown.at(-1)).toBe(40);
  });

  test('a client that cannot ask reads which call waits, answers it, and reads the result of the turn', async () => {
    const client = await connect(era, { args: WITH_AGENT });
    const conversation = `unasked-${era}`;
    const asked = await client.callTool({ name: ASK, arguments: { message: 'elsewhere', conversation } });
    expect(asked.structuredContent).toMatchObject({ state: 'waiting', waiting: { for: 'tools' } });
    const { turn } = asked.structuredContent as { turn: string };
    expect(await call(client, 'answer', { conversation, turn, call: 'c2_0', content: 'a parcel' })).toBe('answered');
    expect(await call(client, 'result', { conversation, turn })).toBe('heard: a parcel');
    const other = await client.callTool({ name: ASK, arguments: { message: 'elsewhere', waitSeconds: 0 } });
    expect(other.structuredContent).toMatchObject({ state: expect.stringMatching(/queued|running|waiting/) as string });
    const named = other.structuredContent as { conversation: string; turn: string };
    expect(await call(client, 'cancel', { conversation: named.conversation, turn: named.turn })).toBe('canceled');
  });

  test('a client that asks for progress hears of calls and of the progress of tools', async () => {
    heard = Promise.withResolvers();
    const client = await connect(era, { args: WITH_AGENT });
    const messages: (string | undefined)[] = [];
    const done: number[] = [];
    const onprogress = ({ message, progress }: { message?: string | undefined; progress: number }): void => {
      messages.push(message);
      done.push(progress);
      if (message === '1 of 2 half') heard.resolve();
    };
    const { content } = await client.callTool({ name: ASK, arguments: { message: 'slow' } }, { onprogress });
    expect(content).toMatchObject([{ text: 'heard: slowly' }]);
    expect(messages).toEqual(['calls slow', '1 of 2 half']);
    expect(done).toEqual([1, 2]);
  });

  test('progress goes on behind a question to a person, without repetitions', async () => {
    const client = await connect(era, { args: WITH_AGENT, capabilities: { elicitation: {} } });
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { approve: true } }));
    const heardOf: unknown[] = [];
    const onprogress = ({ message }: { message?: string | undefined }): void => void heardOf.push(message);
    await client.callTool({ name: ASK, arguments: { message: 'guarded' } }, { onprogress });
    expect(heardOf.filter((message) => message === 'calls guarded')).toHaveLength(1);
  });
});

test('turnfold mcp uses the server of TURNFOLD_URL, and says over HTTP that a tenant cannot be chosen', async () => {
  const { url, stop } = await serveClient(own.client);
  onTestFinished(stop);
  const client = await connect('auto', { args: WITH_AGENT, env: { TURNFOLD_URL: url } });
  expect(await call(client, ASK, { message: 'over HTTP' })).toBe('you said over HTTP');
  expect(await own.turnfold('mcp', '--url', url, '--tenant', 'a')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('--tenant') as string,
  });
});

describe('MCP over HTTP', () => {
  async function serve(): Promise<URL> {
    const { client } = own;
    const app = createMcpApp({ client, nameOf: (id) => id, agents: [agent.name], programVersion: '1' });
    const server = await serveHttp({
      app: { fetch: async (request) => await app.fetch(request), close: () => void app.close() },
      host: '127.0.0.1',
      port: 0,
    });
    onTestFinished(async () => void (await server.close(1_000)));
    return new URL('/mcp', server.url);
  }

  test('a client over HTTP gets the tools and their answers', async () => {
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
    await client.connect(new StreamableHTTPClientTransport(await serve()));
    onTestFinished(() => client.close());
    expect(await call(client, ASK, { message: 'hello' })).toBe('you said hello');
  });

  test('a page of another origin, and a request for another host, are refused', async () => {
    const url = await serve();
    for (const headers of [{ origin: 'https://evil.example' }, { host: 'evil.example' }]) {
      const app = createMcpApp({ client: own.client, nameOf: (id) => id, agents: [], programVersion: '1' });
      const request = new Request(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: '{}',
      });
      expect((await app.fetch(request)).status).toBe(403);
    }
  });

  test('a client that takes tasks gets the turn as a task: working, input_required, completed, and canceled', async () => {
    const url = await serve();
    const send = async (method: string, params: Record<string, unknown>): Promise<Record<string, unknown>> => {
      const meta = {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
      };
      const named = 'name' in params ? params['name'] : params['taskId'];
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': method,
          ...(typeof named === 'string' && { 'mcp-name': named }),
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, ['_meta']: meta } }),
      });
      const text = await response.text();
      const json = text.startsWith('{') ? text : (/^data: (.*)$/m.exec(text)?.[1] ?? text);
      const { result, error } = JSON.parse(json) as {
        result?: Record<string, unknown>;
        error?: Record<string, unknown>;
      };
      return result ?? { error };
    };
    const ask = (message: string) => send('tools/call', { name: ASK, arguments: { message } });
    const get = (taskId: unknown) => send('tasks/get', { taskId });

    const created = await ask('guarded');
    expect(created).toMatchObject({ resultType: 'task', status: expect.stringMatching(/working|input/) as string });
    const { taskId } = created;
    await expect.poll(async () => (await get(taskId))['status'], { timeout: 60_000 }).toBe('input_required');
    const asked = await get(taskId);
    const [question = '', ...others] = Object.keys(asked['inputRequests'] as object);
    expect([asked['resultType'], question, others]).toEqual(['complete', expect.stringMatching(/^c2_0\.\w+$/), []]);
    const inputResponses = { [question]: { action: 'accept', content: { approve: true } } };
    const foreign = { [`${question}0`]: inputResponses[question] };
    expect(await send('tasks/update', { taskId, inputResponses: foreign }), 'of another call').toMatchObject({});
    expect((await get(taskId))['status']).toBe('input_required');
    expect(await send('tasks/update', { taskId, inputResponses })).toMatchObject({ resultType: 'complete' });
    await expect.poll(async () => (await get(taskId))['status'], { timeout: 60_000 }).toBe('completed');
    expect(await get(taskId)).toMatchObject({ result: { content: [{ text: 'heard: it ran' }] } });

    const other = await ask('elsewhere');
    await send('tasks/cancel', { taskId: other['taskId'] });
    expect(await get(other['taskId'])).toMatchObject({ status: 'cancelled' });
    expect(await get('nothing')).toMatchObject({ error: { code: -32_602 } });
    expect(await get('no/turn')).toMatchObject({ error: { message: expect.stringContaining('not_found') as string } });
  });
});

import { HttpAgent } from '@ag-ui/client';
import { HttpAgent as OlderAgent } from '@ag-ui/client59';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { agUiApp } from '../../src/api/http/ag-ui/ag-ui-app.ts';
import { authenticateByKey } from '../../src/api/http/caller.ts';
import type { Agent } from '../../src/domain/agent.ts';
import { scriptedModel } from '../../src/providers/scripted.ts';
import { type Fixture, openFixture } from '../client/fixture.ts';
import { createSharingAgent, gates } from './ag-ui-agent.ts';
import { serveApp } from './served-app.ts';

const WAIT_MS = 60_000;
const CLIENTS = {
  '1.0': HttpAgent,
  // Its types of messages differ in fields that this test does not read.
  '0.0.59': OlderAgent as unknown as typeof HttpAgent,
};

let fixture: Fixture;
let server: Awaited<ReturnType<typeof serveApp>>;
let count = 0;

/** An agent whose calls and turns have short deadlines. */
function createHastyAgent(): Agent {
  return {
    ...createSharingAgent(),
    name: 'hasty',
    turnTimeoutMs: 100,
    model: scriptedModel({ decide: () => ({ content: wait() }) }),
  };
}

async function* wait(): AsyncGenerator<string> {
  yield 'One ';
  await new Promise(() => undefined);
}

/** An agent that asks for an approval which expires at once. */
function createSigner(): Agent {
  const sign = { name: 'sign', description: 'signs', input: z.looseObject({}), needsApproval: true, answerWithinMs: 1 };
  return {
    ...createSharingAgent(),
    name: 'signer',
    tools: [{ ...sign, run: async () => 'signed' }],
  };
}

beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([createSharingAgent(), createHastyAgent(), createSigner()]);
  server = await serveApp(agUiApp({ authenticate: 'none', clientFor: () => fixture.client, agent: 'sharer' }));
});
afterAll(async () => {
  for (const gate of gates.values()) gate.resolve();
  await server.close();
  await fixture.close();
});

interface Ended {
  readonly last: Record<string, unknown>;
  /** Text of the error that the program of the client gets. */
  readonly error: string;
}

async function run(agent: HttpAgent, parameters: Parameters<HttpAgent['runAgent']>[0] = {}): Promise<Ended> {
  let last = {};
  const failed = agent.runAgent(parameters, { onEvent: ({ event }) => void (last = event) });
  const error = await failed.then(
    () => '',
    ({ message }: Error) => message,
  );
  return { last, error };
}

describe.each(Object.entries(CLIENTS))('the AG-UI client %s', (version, Client) => {
  interface Thread {
    readonly url?: string;
    readonly threadId?: string;
    readonly headers?: Record<string, string>;
  }

  function open(content: string, { url = `${server.url}/v1/ag-ui`, ...thread }: Thread = {}): HttpAgent {
    count += 1;
    const initialMessages = [{ id: `m${count}`, role: 'user' as const, content }];
    return new Client({ url, threadId: `failing-${count}`, initialMessages, ...thread });
  }

  const textOf = ({ messages }: HttpAgent): unknown => messages.findLast(({ role }) => role === 'assistant')?.content;

  test('gets the code and the sentence of a turn that fails', async () => {
    const { last } = await run(open('fail'));
    const message = expect.stringContaining('the model is broken');
    expect(last).toMatchObject({ type: 'RUN_ERROR', code: 'model_failed', message });
  });

  test('gets an error for a turn that takes longer than its agent allows', async () => {
    const { last } = await run(open('hello', { url: `${server.url}/v1/ag-ui/hasty` }));
    expect(last).toMatchObject({ type: 'RUN_ERROR', code: 'turn_timeout' });
  });

  test('ends a run whose turn is canceled by another program', async () => {
    const gate = `canceled-${version}`;
    gates.set(gate, Promise.withResolvers());
    const agent = open(`hold ${gate}`);
    const ended = run(agent, { runId: 'r1' });
    await expect.poll(() => textOf(agent)).toBe('One ');
    await fixture.client.cancel(agent.threadId, 'r1');
    expect(await ended).toMatchObject({ last: { type: 'RUN_FINISHED' }, error: '' });
  });

  test('gets an error for a run whose thread is erased', async () => {
    const gate = `erased-${version}`;
    gates.set(gate, Promise.withResolvers());
    const agent = open(`hold ${gate}`);
    const ended = run(agent, { runId: 'r1' });
    await expect.poll(() => textOf(agent)).toBe('One ');
    await fixture.client.erase(agent.threadId);
    expect((await ended).last).toMatchObject({ type: 'RUN_ERROR', message: expect.stringMatching(/\w+ \w+/) });
  });

  test('gets an error for an approval that comes after its deadline', async () => {
    const agent = open('call sign', { url: `${server.url}/v1/ag-ui/signer` });
    await run(agent, { runId: 'r1' });
    await fixture.client.result(agent.threadId, 'r1', { waitMs: WAIT_MS });
    const interruptId = agent.pendingInterrupts[0]?.id ?? 'r1/c2_0';
    agent.pendingInterrupts = [];
    const resume = [{ interruptId, status: 'resolved' as const, payload: { approved: true } }];
    expect((await run(agent, { resume })).last).toMatchObject({ type: 'RUN_ERROR', code: 'conflict' });
  });

  test('gets an error for a message while calls of its thread wait, and the error names the calls', async () => {
    const first = open('call book');
    await run(first, { runId: 'r1' });
    const { last } = await run(open('hello', { threadId: first.threadId }));
    expect(last).toMatchObject({
      type: 'RUN_ERROR',
      code: 'conversation_busy',
      message: expect.stringContaining('waits for answers to'),
    });
  });

  test('gets an error for an agent that no worker has', async () => {
    const { last } = await run(open('hello', { url: `${server.url}/v1/ag-ui/nobody` }));
    const message = 'agent: no running worker has an agent with the name nobody';
    expect(last).toMatchObject({ type: 'RUN_ERROR', code: 'unknown_agent', message: expect.stringContaining(message) });
  });

  test('gets an error for a thread of another agent', async () => {
    const first = open('hello');
    await run(first);
    const { last } = await run(open('hello', { threadId: first.threadId, url: `${server.url}/v1/ag-ui/signer` }));
    expect(last).toMatchObject({ type: 'RUN_ERROR', code: 'agent_conflict' });
  });

  test('gets the status and the sentence for a wrong key, and for a key without a scope', async () => {
    const { keys } = fixture.client;
    const guarded = await serveApp(
      agUiApp({ authenticate: authenticateByKey(keys), clientFor: () => fixture.client, agent: 'sharer' }),
    );
    const { token } = await keys.create({ tenant: '_', scopes: ['read'] });
    const asked = async (authorization: string): Promise<string> => {
      return (await run(open('hello', { url: `${guarded.url}/v1/ag-ui`, headers: { authorization } }))).error;
    };
    expect(await asked('Bearer wrong')).toMatch(/^HTTP 401: .*"detail":"/);
    expect(await asked(`Bearer ${token}`)).toMatch(/^HTTP 403: .*enqueue/);
    await guarded.close();
  });

  test('gets an error for a request that is malformed', async () => {
    const agent = open('');
    expect((await run(agent)).error).toMatch(/^HTTP 422: .*messages/);
  });
});

import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Agent } from '../../../src/domain/agent.ts';
import type { ModelRequest } from '../../../src/domain/model.ts';
import { scriptedModel } from '../../../src/providers/scripted.ts';
import { type Fixture, openFixture } from '../fixture.ts';

const LONG = 'ponder '.repeat(20_000);
const requests: ModelRequest[] = [];
const model = scriptedModel({
  decide: (request) => {
    requests.push(request);
    const asked = request.messages.at(-1)?.content;
    return { content: 'Done.', reasoning: asked === 'long' ? LONG : 'First I think.' };
  },
});
const agent: Agent = { name: 'thinker', system: 'You think.', model, tools: [], policy: {} };

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([agent, { ...agent, name: 'private', keepReasoning: false }]);
});
afterAll(() => fixture.close());

async function run(conversation: string, input: string, name = 'thinker', turn = 't1'): Promise<void> {
  await fixture.client.enqueueTurn({ conversation, agent: name, input, turn });
  await fixture.client.result(conversation, turn, { waitMs: 60_000 });
}

async function reasoningOf(conversation: string): Promise<string | undefined> {
  return (await fixture.client.log(conversation)).at(-1)?.message.reasoning;
}

test('the log keeps the reasoning of a turn that no client followed', async () => {
  await run('unread', 'hi');
  expect(await reasoningOf('unread')).toBe('First I think.');
});

test('a reader that comes after the end of a turn gets its reasoning before its text', async () => {
  await run('late', 'hi');
  const parts = [];
  for await (const part of fixture.client.stream('late', 't1')) parts.push(part);
  expect(parts.map((part) => ('piece' in part ? [part.type, part.piece] : [part.type]))).toEqual([
    ['reasoning', 'First I think.'],
    ['text', 'Done.'],
    ['end'],
  ]);
});

test('no later model request has the kept reasoning, and the reasoning counts no tokens of the context', async () => {
  await run('next', 'hi');
  await run('next', 'again', 'thinker', 't2');
  await run('plain', 'hi', 'private');
  await run('plain', 'again', 'private', 't2');
  expect(requests.every(({ messages }) => messages.every(({ reasoning }) => reasoning === undefined))).toBe(true);
  const [kept, left] = await Promise.all(['next', 'plain'].map((name) => fixture.client.describe(name)));
  expect(kept?.size.headTotal).toEqual(left?.size.headTotal);
});

test('an agent with keepReasoning false keeps no reasoning in the log', async () => {
  await run('private', 'hi', 'private');
  expect(await reasoningOf('private')).toBeUndefined();
});

test('the log keeps at most 65,536 characters of the reasoning of a message', async () => {
  await run('bounded', 'long');
  expect(await reasoningOf('bounded')).toBe(LONG.slice(0, 65_536));
});

import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { EnqueueInput, TurnPart } from '../../../src/api/client/index.ts';
import type { Agent } from '../../../src/domain/agent.ts';
import { scriptedModel } from '../../../src/providers/scripted.ts';
import { type Fixture, openFixture } from '../fixture.ts';

/** Gates by conversation. A model that streams waits for the gate behind its first words. */
const gates = new Map<string, Promise<void>>();

/** Has fewer than 65,536 characters, and more than 65,536 bytes. */
const LONG = '思'.repeat(30_000);

/** An agent that streams the text behind `say `, then waits for its gate. Any other input lists the messages that the model sees. */
function createSpeaker(name: string, onCancel?: 'keep' | 'discard'): Agent {
  return {
    name,
    system: '',
    policy: {},
    tools: [],
    ...(onCancel && { onCancel }),
    model: scriptedModel({
      decide: ({ messages }) => {
        const input = messages.at(-1)?.content ?? '';
        const reasoning = input === 'say long' ? LONG : 'hm';
        if (input.startsWith('say ')) return { reasoning, content: speak(input.slice('say '.length)) };
        return { content: messages.map(({ role, content }) => `${role}: ${content}`).join(' | ') };
      },
    }),
  };
}

async function* speak(text: string): AsyncGenerator<string> {
  yield text;
  await Promise.all(gates.values());
  yield 'the rest';
}

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([createSpeaker('speaker'), createSpeaker('forgetful', 'discard')]);
});
afterAll(() => fixture.close());

/** Enqueues a turn, and reads its stream up to the first text. */
async function speakTo(conversation: string, text: string, agent = 'speaker') {
  const { promise, resolve } = Promise.withResolvers<void>();
  gates.set(conversation, promise);
  onTestFinished(() => resolve());
  await fixture.client.enqueueTurn({ conversation, agent, input: `say ${text}`, turn: 'first' });
  const parts = fixture.client.stream(conversation, 'first')[Symbol.asyncIterator]();
  for (let part = await parts.next(); part.done !== true; part = await parts.next()) {
    if (part.value.type === 'text' || (text.trim() === '' && part.value.type === 'reasoning')) break;
  }
  const readRest = async (): Promise<TurnPart['type'][]> => {
    const types: TurnPart['type'][] = [];
    for (let part = await parts.next(); part.done !== true; part = await parts.next()) types.push(part.value.type);
    return types;
  };
  return { readRest };
}

async function ask(
  conversation: string,
  onBusy?: EnqueueInput['onBusy'],
  agent = 'speaker',
): Promise<string | undefined> {
  await fixture.client.enqueueTurn({ conversation, agent, input: 'next', turn: 'second', ...(onBusy && { onBusy }) });
  return (await fixture.client.result(conversation, 'second', { waitMs: 60_000 })).answer?.content;
}

async function logOf(conversation: string): Promise<object[]> {
  return (await fixture.client.log(conversation)).map(({ message: { role, content, stopped }, left }) => ({
    role,
    content,
    ...(stopped && { stopped }),
    ...(left && { left }),
  }));
}

test('the text that a reader saw of a canceled turn stays in the log as a stopped message, which the model sees later', async () => {
  const { readRest } = await speakTo('c-cancel', 'Half "a\\ ☃');
  expect(await fixture.client.cancel('c-cancel', 'first')).toBe('canceled');
  expect(await readRest(), 'no restart').toEqual(['end']);
  const user = { role: 'user', content: 'say Half "a\\ ☃' };
  const stopped = { role: 'assistant', content: 'Half "a\\ ☃', stopped: true };
  expect(await logOf('c-cancel')).toEqual([user, stopped]);
  expect(await fixture.client.result('c-cancel', 'first')).toMatchObject({
    state: 'canceled',
    stopped: { seq: 2, content: 'Half "a\\ ☃' },
  });
  expect(await ask('c-cancel')).toBe('user: say Half "a\\ ☃ | assistant: Half "a\\ ☃ | user: next');
  const [, entry] = await fixture.client.log('c-cancel');
  expect(entry).toMatchObject({ turn: 'first', bytes: Buffer.byteLength('Half "a\\ ☃') });
  expect(entry?.tokens).toBeGreaterThan(4);
});

test('a cancel keeps the first 65,536 bytes of long reasoning, and its readers keep all that they have', async () => {
  const { readRest } = await speakTo('c-reasoning', 'long');
  await fixture.client.cancel('c-reasoning', 'first');
  expect(await readRest(), 'no restart').toEqual(['end']);
  const [, entry] = await fixture.client.log('c-reasoning');
  expect(entry?.message).toMatchObject({ content: 'long', stopped: true, reasoning: LONG.slice(0, 21_845) });
});

test('onBusy interrupt keeps the streamed text of the canceled turn, in front of the new message', async () => {
  await speakTo('c-interrupt', 'Half');
  expect(await ask('c-interrupt', 'interrupt')).toBe('user: say Half | assistant: Half | user: next');
});

test('onBusy rollback keeps the streamed text of the canceled turn in the log, and removes it from the context', async () => {
  await speakTo('c-rollback', 'Half');
  expect(await ask('c-rollback', 'rollback')).toBe('user: next');
  const left = 'rolled_back';
  expect((await logOf('c-rollback')).slice(0, 2)).toEqual([
    { role: 'user', content: 'say Half', left },
    { role: 'assistant', content: 'Half', stopped: true, left },
  ]);
});

test('a canceled turn of an agent with onCancel discard leaves no text', async () => {
  const { readRest } = await speakTo('c-discard', 'Half', 'forgetful');
  await fixture.client.cancel('c-discard', 'first');
  expect(await readRest()).toEqual(['restart', 'end']);
  expect(await fixture.client.result('c-discard', 'first')).not.toHaveProperty('stopped');
  expect(await ask('c-discard', undefined, 'forgetful')).toBe('user: say Half | user: next');
});

test('a canceled turn that streamed only blank text or reasoning leaves no message', async () => {
  await speakTo('c-blank', ' ');
  await fixture.client.cancel('c-blank', 'first');
  expect(await ask('c-blank')).toBe('user: say   | user: next');
});

test('a late cancel of a settled turn does not touch later turns', async () => {
  await fixture.client.enqueueTurn({ conversation: 'c-late', agent: 'speaker', input: 'hello', turn: 'zero' });
  await fixture.client.result('c-late', 'zero', { waitMs: 60_000 });
  await speakTo('c-late', 'Half');
  expect(await fixture.client.cancel('c-late', 'zero')).toBe('completed');
  expect(await fixture.client.result('c-late', 'first')).toMatchObject({ state: 'running' });
});

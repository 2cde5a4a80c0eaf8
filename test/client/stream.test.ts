import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { OpenClient, StreamOptions, TurnProgress } from '../../src/client/index.ts';
import type { Agent } from '../../src/domain/agent.ts';
import { type ScriptedAnswer, scriptedModel } from '../../src/models/scripted.ts';
import { type Fixture, openFixture } from './fixture.ts';

const POLL = { timeout: 60_000, interval: 20 };
const agent = 'speaker';

/** An agent that streams the pieces of the test. It calls `look` after the first text if the input says so. */
function createSpeaker(speak: (input: string) => ScriptedAnswer['content']): Agent {
  return {
    name: agent,
    system: '',
    policy: {},
    tools: [],
    model: scriptedModel({
      decide: ({ messages }) => {
        const content = speak(messages.findLast(({ role }) => role === 'user')?.content ?? '') ?? '';
        const isFirst = messages.at(-1)?.role === 'user';
        return messages.some((message) => message.content === 'look') && isFirst
          ? { content: 'Let me see.', toolCalls: [{ name: 'nothing', arguments: {} }] }
          : { content };
      },
    }),
  };
}

let fixture: Fixture;
/** A test resolves a gate to let the model stream one more piece. */
let gates: PromiseWithResolvers<void>[] = [];

async function* speakInTurns(): AsyncGenerator<string> {
  const mine = gates;
  for (const [index, piece] of ['It ', 'is ', 'blue.'].entries()) {
    await mine[index]?.promise;
    yield piece;
  }
}

beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([createSpeaker(speakInTurns)]);
});
afterAll(() => fixture.close());

async function countChannels(conversation: string): Promise<number> {
  return ((await fixture.redis.pubsub('CHANNELS', `*:text:${conversation}:*`)) as string[]).length;
}

async function countConnections(): Promise<number> {
  return String(await fixture.redis.client('LIST'))
    .trim()
    .split('\n').length;
}

/** Follows a turn whose model streams nothing before the follower has subscribed. */
async function follow(conversation: string, options?: StreamOptions, client: OpenClient = fixture.client) {
  gates = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
  const mine = gates;
  const { turn } = await fixture.client.enqueueTurn({ conversation, agent, input: 'hello' });
  const parts = client.stream(conversation, turn, options)[Symbol.asyncIterator]();
  const first = parts.next();
  first.catch(() => undefined);
  await expect.poll(() => countChannels(conversation), POLL).toBe(1);
  const open = (index: number): void => mine[index]?.resolve();
  onTestFinished(() => mine.forEach(({ resolve }) => resolve()));
  return { turn, parts, first, open };
}

async function takeAll(parts: AsyncIterator<TurnProgress>): Promise<TurnProgress[]> {
  const taken: TurnProgress[] = [];
  for (;;) {
    const { done, value } = await parts.next();
    if (done === true) return taken;
    taken.push(value);
  }
}

const text = (piece: string, step = 1): TurnProgress => ({ type: 'text', step, piece });
const result = (content: string): object => ({ type: 'result', view: { state: 'completed', answer: { content } } });

describe('a follower of a turn', () => {
  test('a stream delivers each piece of text, and the result at the end', async () => {
    const { parts, first, open } = await follow('whole');
    open(0);
    expect(await first).toEqual({ done: false, value: text('It ') });
    open(1);
    expect(await parts.next()).toEqual({ done: false, value: text('is ') });
    open(2);
    expect(await takeAll(parts)).toMatchObject([text('blue.'), result('It is blue.')]);
    expect(await countChannels('whole')).toBe(0);
  });

  test('a stream delivers the texts of all steps of its turn, and of no other turn', async () => {
    gates = [];
    await fixture.client.enqueueTurn({ conversation: 'steps', agent, input: 'before' });
    const { turn } = await fixture.client.enqueueTurn({ conversation: 'steps', agent, input: 'look', delayMs: 300 });
    const received: TurnProgress[] = [];
    for await (const part of fixture.client.stream('steps', turn)) received.push(part);
    const textOf = (step: number): string =>
      received.map((part) => (part.type === 'text' && part.step === step ? part.piece : '')).join('');
    expect([textOf(1), textOf(2)]).toEqual(['Let me see.', 'It is blue.']);
    expect(received.at(-1)).toMatchObject(result('It is blue.'));
  });

  test('a stream delivers the result of a settled turn, and of a turn whose text was lost', async () => {
    const { turn, parts, first, open } = await follow('unreceived');
    // The killed subscription loses the pieces.
    await fixture.redis.client('KILL', 'TYPE', 'PUBSUB');
    for (const index of [0, 1, 2]) open(index);
    const { value } = await first;
    expect([value as TurnProgress, ...(await takeAll(parts))].at(-1)).toMatchObject(result('It is blue.'));
    const again = fixture.client.stream('unreceived', turn)[Symbol.asyncIterator]();
    expect(await takeAll(again)).toMatchObject([result('It is blue.')]);
  });

  test('a slow follower of a stream does not slow down the turn', async () => {
    const { turn, parts, first, open } = await follow('slow');
    for (const index of [0, 1, 2]) open(index);
    await first;
    const view = await fixture.client.result('slow', turn, { waitMs: 20_000 });
    expect(view).toMatchObject({ state: 'completed' });
    const { value } = await first;
    const received = [value as TurnProgress, ...(await takeAll(parts))];
    expect(received.map((part) => (part.type === 'text' ? part.piece : '')).join('')).toBe('It is blue.');
  });

  test('a stream ends with the current state of the turn when waitMs is over', async () => {
    const { parts, first } = await follow('late', { waitMs: 200 });
    expect(await first).toMatchObject({ value: { type: 'result', view: { state: 'running' } } });
    expect(await parts.next()).toMatchObject({ done: true });
  });
});

describe('a follower that ends', () => {
  test('a stream that is aborted throws the reason at once and unsubscribes', async () => {
    const work = new AbortController();
    const { parts, first, open } = await follow('aborted', { signal: work.signal });
    open(0);
    await first;
    const next = parts.next();
    const reason = new Error('enough');
    work.abort(reason);
    await expect(next).rejects.toBe(reason);
    await expect.poll(() => countChannels('aborted'), POLL).toBe(0);
    const late = fixture.client.stream('aborted', 't', { signal: work.signal })[Symbol.asyncIterator]();
    await expect(late.next()).rejects.toBe(reason);
  });

  test('a stream unsubscribes when its follower leaves the loop, and twenty streams leave no connection behind', async () => {
    const client = await fixture.openClient();
    const enough = async (conversation: string): Promise<void> => {
      const { parts, first, open } = await follow(conversation, {}, client);
      open(0);
      expect(await first).toEqual({ done: false, value: text('It ') });
      await parts.return?.();
      await expect.poll(() => countChannels(conversation), POLL).toBe(0);
      // Lets the turn finish, so that its worker is free for the next one.
      for (const index of [1, 2]) open(index);
    };
    await enough('left-0');
    const connections = await countConnections();
    for (let index = 1; index <= 20; index += 1) await enough(`left-${index}`);
    expect(await countConnections()).toBe(connections);
  });
});

test.each<[string, string, string, StreamOptions]>([
  ['not_found', 'turn', 'nobody', {}],
  ['invalid_input', 'turn', 'a:b', {}],
  ['invalid_input', 'waitMs', 't1', { waitMs: -1 }],
])('a stream fails with %s and the error names the field %s', async (code, field, turn, options) => {
  const parts = fixture.client.stream('whole', turn, options)[Symbol.asyncIterator]();
  await expect(parts.next()).rejects.toMatchObject({ code, field });
});

test('a stream restarts the text of a step whose worker was killed, and delivers the whole result once', async () => {
  const own = await openFixture();
  onTestFinished(() => own.close());
  const { turn } = await own.client.enqueueTurn({ conversation: 'c1', agent, input: 'hello' });
  const parts = own.client.stream('c1', turn)[Symbol.asyncIterator]();
  const first = parts.next();
  await expect.poll(() => own.redis.pubsub('CHANNELS', '*:text:c1:*'), POLL).toHaveLength(1);
  const script = fileURLToPath(new URL('./silent-worker.ts', import.meta.url));
  const child = spawn(process.execPath, [script, own.url], { stdio: 'inherit' });
  onTestFinished(() => void child.kill('SIGKILL'));
  expect(await first).toEqual({ done: false, value: text('It is bl') });
  child.kill('SIGKILL');
  await once(child, 'exit');
  await own.startWorkers([createSpeaker(() => 'It is red.')]);
  const received = await takeAll(parts);
  expect(received[0]).toEqual({ type: 'restart', step: 1 });
  expect(received.map((part) => (part.type === 'text' ? part.piece : '')).join('')).toBe('It is red.');
  expect(received.at(-1)).toMatchObject(result('It is red.'));
  expect((await own.client.log('c1')).map(({ message }) => message.content)).toEqual(['hello', 'It is red.']);
});

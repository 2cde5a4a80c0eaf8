import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { OpenClient, StreamOptions, TurnPart } from '../../../src/api/client/index.ts';
import type { Agent } from '../../../src/domain/agent.ts';
import { type ScriptedAnswer, scriptedModel } from '../../../src/providers/scripted.ts';
import { Keyspace } from '../../../src/store/keys.ts';
import { type Fixture, openFixture, SHARDS } from '../fixture.ts';
import { messagesOf, ReadTurn } from '../read-parts.ts';

const POLL = { timeout: 60_000, interval: 20 };
const agent = 'speaker';

/** An agent that streams the pieces of the test. It calls `look` after the first text if the input says so. */
function createSpeaker(speak: (input: string) => ScriptedAnswer['content']): Agent {
  return {
    name: agent,
    system: '',
    policy: {},
    tools: [
      { name: 'look', description: 'looks', input: z.object({}), run: async () => 'the sky' },
      { name: 'ask', description: 'asks elsewhere', input: z.object({}) },
    ],
    model: scriptedModel({
      decide: ({ messages }) => {
        const content = speak(messages.findLast(({ role }) => role === 'user')?.content ?? '') ?? '';
        const isFirst = messages.at(-1)?.role === 'user';
        if (isFirst && messages.at(-1)?.content === 'ask') return { toolCalls: [{ name: 'ask', arguments: {} }] };
        return messages.some((message) => message.content === 'look') && isFirst
          ? { reasoning: 'hm', content: 'Let me see.', toolCalls: [{ name: 'look', arguments: {} }] }
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

function keyOf(conversation: string, turn: string): string {
  return new Keyspace(SHARDS).stream({ tenant: '_', id: conversation }, turn);
}

async function countChannels(conversation: string): Promise<number> {
  return ((await fixture.redis.pubsub('CHANNELS', `*:out:${conversation}:*`)) as string[]).length;
}

async function countConnections(): Promise<number> {
  return String(await fixture.redis.client('LIST'))
    .trim()
    .split('\n').length;
}

/** Enqueues a turn whose model waits at its gates. */
async function enqueue(conversation: string, input = 'hello') {
  gates = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
  const mine = gates;
  const { turn } = await fixture.client.enqueueTurn({ conversation, agent, input });
  onTestFinished(() => mine.forEach(({ resolve }) => resolve()));
  const open = (...indexes: number[]): void => {
    for (const index of indexes) mine[index]?.resolve();
  };
  return { turn, open };
}

function readParts(conversation: string, turn: string, options?: StreamOptions, client: OpenClient = fixture.client) {
  return client.stream(conversation, turn, options)[Symbol.asyncIterator]();
}

/** Follows a turn whose model streams nothing before the follower has asked for its pieces. */
async function follow(conversation: string, options?: StreamOptions, client: OpenClient = fixture.client) {
  const started = await enqueue(conversation);
  const parts = readParts(conversation, started.turn, options, client);
  const first = parts.next();
  first.catch(() => undefined);
  await expect.poll(() => fixture.redis.exists(keyOf(conversation, started.turn)), POLL).toBe(1);
  return { ...started, parts, first };
}

async function takeAll(parts: AsyncIterator<TurnPart>): Promise<TurnPart[]> {
  const taken: TurnPart[] = [];
  for (;;) {
    const { done, value } = await parts.next();
    if (done === true) return taken;
    taken.push(value);
  }
}

/** Reads parts until the text of step 1 is at least `text`. */
async function readTo(text: string, parts: AsyncIterator<TurnPart>, reader = new ReadTurn()): Promise<ReadTurn> {
  while ((reader.steps.get(1)?.text ?? '') !== text) {
    const { done, value } = await parts.next();
    if (done === true) throw new Error(`the stream ended before the text "${text}"`);
    reader.add(value);
  }
  return reader;
}

async function expectLog(conversation: string, turn: string, reader: ReadTurn): Promise<void> {
  expect(reader.messages).toEqual(messagesOf(await fixture.client.log(conversation), turn));
}

function applyAll(parts: readonly TurnPart[], reader = new ReadTurn()): ReadTurn {
  for (const part of parts) reader.add(part);
  return reader;
}

function joinText(parts: readonly TurnPart[]): string {
  return parts.map((part) => (part.type === 'text' ? part.piece : '')).join('');
}

const text = (piece: string, step = 1): object => ({ type: 'text', step, piece });
const end = (content: string): object => ({ type: 'end', view: { state: 'completed', answer: { content } } });

describe('a reader of a turn', () => {
  test('a stream delivers each piece of text, and the settled turn at the end', async () => {
    const { turn, parts, first, open } = await follow('whole');
    open(0);
    expect(await first).toMatchObject({ done: false, value: text('It ') });
    open(1);
    expect(await parts.next()).toMatchObject({ done: false, value: text('is ') });
    open(2);
    expect(await takeAll(parts)).toMatchObject([text('blue.'), end('It is blue.')]);
    await expect.poll(() => countChannels('whole'), POLL).toBe(0);
    expect(await fixture.redis.pttl(keyOf('whole', turn))).toBeGreaterThan(0);
  });

  test('a stream delivers the steps, calls and results of its turn, and of no other turn', async () => {
    gates = [];
    await fixture.client.enqueueTurn({ conversation: 'steps', agent, input: 'before' });
    const { turn } = await fixture.client.enqueueTurn({ conversation: 'steps', agent, input: 'look', delayMs: 300 });
    const received = await takeAll(readParts('steps', turn));
    const reader = applyAll(received);
    await expectLog('steps', turn, reader);
    expect(reader.messages).toMatchObject([
      { text: 'Let me see.', results: [{ content: 'the sky' }] },
      { text: 'It is blue.' },
    ]);
    expect(received.at(-1)).toMatchObject(end('It is blue.'));
    const late = applyAll(await takeAll(readParts('steps', turn)));
    await expectLog('steps', turn, late);
    expect(late.steps.get(1)?.reasoning).toBe('hm');
  });

  test('a late reader and a second reader of a stream get the text from its start', async () => {
    const { turn, parts, first, open } = await follow('late');
    open(0, 1);
    await readTo('It is ', parts, applyAll([(await first).value as TurnPart]));
    const late = readParts('late', turn);
    expect(await late.next()).toMatchObject({ value: text('It is ') });
    open(2);
    expect(await takeAll(late)).toMatchObject([text('blue.'), end('It is blue.')]);
    expect(joinText(await takeAll(readParts('late', turn))), 'after the end').toBe('It is blue.');
  });

  test('a reader that joins while a model writes gets the text that the worker has held back so far', async () => {
    const { turn, open } = await enqueue('asks');
    open(0, 1);
    const claimed = async () => (await fixture.client.result('asks', turn)).state;
    await expect.poll(claimed, POLL).toBe('running');
    expect(await fixture.redis.exists(keyOf('asks', turn))).toBe(0);
    const parts = readParts('asks', turn);
    expect(await readTo('It is ', parts)).toBeDefined();
    open(2);
    expect((await takeAll(parts)).at(-1)).toMatchObject(end('It is blue.'));
  });

  test('a turn without readers writes no pieces of text to its stream', async () => {
    const { turn, open } = await enqueue('silent');
    open(0, 1, 2);
    expect(await fixture.client.result('silent', turn, { waitMs: 60_000 })).toMatchObject({ state: 'completed' });
    expect(await fixture.redis.keys('*:out:silent:*')).toEqual([]);
    expect(await takeAll(readParts('silent', turn))).toMatchObject([text('It is blue.'), end('It is blue.')]);
  });

  test('a reader that resumes after an id gets the rest of the stream, both while the model writes and after the end', async () => {
    const { turn, parts, first, open } = await follow('resumes');
    open(0);
    const { value } = await first;
    const { id: after } = value as TurnPart;
    await parts.return?.();
    const again = readParts('resumes', turn, { after });
    open(1);
    expect(await again.next()).toMatchObject({ value: text('is ') });
    open(2);
    await takeAll(again);
    expect(joinText(await takeAll(readParts('resumes', turn, { after })))).toBe('is blue.');
    const { id: last } = (await takeAll(readParts('resumes', turn))).at(-1) as TurnPart;
    expect(await takeAll(readParts('resumes', turn, { after: last }))).toMatchObject([end('It is blue.')]);
  });

  test.each([
    ['removed', (key: string) => fixture.redis.unlink(key)],
    ['trimmed', (key: string) => fixture.redis.xtrim(key, 'MAXLEN', 1)],
  ])('readers get the whole text from the log after streamed pieces were %s', async (how, remove) => {
    const { turn, parts, first, open } = await follow(how);
    open(0);
    const reader = applyAll([(await first).value as TurnPart]);
    open(1);
    await readTo('It is ', parts, reader);
    const { after = '' } = reader;
    await remove(keyOf(how, turn));
    const others = [readParts(how, turn), readParts(how, turn, { after })];
    const firstOfOthers = others.map((other) => other.next());
    open(2);
    const [late = [], resumed = []] = await Promise.all(
      others.map(async (other, index) => [(await firstOfOthers[index])?.value as TurnPart, ...(await takeAll(other))]),
    );
    await expectLog(how, turn, applyAll(await takeAll(parts), reader));
    await expectLog(how, turn, applyAll(late));
    expect(joinText(resumed)).toBe('blue.');
  });

  test('a reader keeps the streamed text after a cancel in the middle of an answer, because the log has this text', async () => {
    const { turn, parts, first, open } = await follow('canceled');
    open(0);
    const reader = applyAll([(await first).value as TurnPart]);
    await fixture.client.cancel('canceled', turn);
    const rest = await takeAll(parts);
    expect(rest).toMatchObject([{ type: 'end', view: { state: 'canceled', stopped: { seq: 2, content: 'It ' } } }]);
    await expectLog('canceled', turn, applyAll(rest, reader));
  });

  test('a slow reader of a stream does not slow down the turn, and gets the whole text', async () => {
    const { turn, parts, first, open } = await follow('slow');
    open(0, 1, 2);
    const { value } = await first;
    const view = await fixture.client.result('slow', turn, { waitMs: 60_000 });
    expect(view).toMatchObject({ state: 'completed' });
    await expectLog('slow', turn, applyAll([value as TurnPart, ...(await takeAll(parts))]));
  });

  test('a stream ends with the current state of the turn when waitMs is over', async () => {
    const { turn } = await enqueue('ends');
    await expect.poll(async () => (await fixture.client.result('ends', turn)).state, POLL).toBe('running');
    const parts = readParts('ends', turn, { waitMs: 200 });
    expect(await parts.next()).toMatchObject({ value: { type: 'end', view: { state: 'running' } } });
    expect(await parts.next()).toMatchObject({ done: true });
  });
});

describe('a reader that ends', () => {
  test('the stream of a queued turn reports once which turn it waits behind, and then continues with its own parts', async () => {
    const { client } = fixture;
    await client.enqueueTurn({ conversation: 'behind', agent, turn: 't1', input: 'ask' });
    await expect.poll(async () => (await client.result('behind', 't1')).state, POLL).toBe('waiting');
    await client.enqueueTurn({ conversation: 'behind', agent, turn: 't2', input: 'next' });
    const parts: TurnPart[] = [];
    for await (const part of client.stream('behind', 't2')) {
      parts.push(part);
      if (part.type !== 'behind') continue;
      const [call] = part.waiting.calls;
      expect(part).toMatchObject({ turn: 't1', waiting: { for: 'tools' } });
      // A reader that comes now gets the wait at once, also without waiting.
      const now: string[] = [];
      for await (const { type } of client.stream('behind', 't2', { waitMs: 0 })) now.push(type);
      expect(now).toEqual(['behind', 'end']);
      await client.answer('behind', part.turn, { [call?.id ?? '']: { content: 'told' } });
    }
    expect(parts.filter(({ type }) => type === 'behind').length).toBe(1);
    expect(parts.at(-1)).toMatchObject({ type: 'end', view: { state: 'completed' } });
  });

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
    const late = readParts('aborted', 't', { signal: work.signal });
    await expect(late.next()).rejects.toBe(reason);
  });

  test('a stream unsubscribes when its reader leaves the loop, and twenty streams leave no connection behind', async () => {
    const client = await fixture.openClient();
    const enough = async (conversation: string): Promise<void> => {
      const { parts, first, open } = await follow(conversation, {}, client);
      open(0);
      expect(await first).toMatchObject({ done: false, value: text('It ') });
      await parts.return?.();
      await expect.poll(() => countChannels(conversation), POLL).toBe(0);
      // Lets the turn finish, so that its worker is free for the next one.
      open(1, 2);
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
  ['invalid_input', 'after', 't1', { after: 'x' }],
])('a stream fails with %s and the error names the field %s', async (code, field, turn, options) => {
  await expect(readParts('whole', turn, options).next()).rejects.toMatchObject({ code, field });
});

test('a stream withdraws the text of a step whose worker was killed, and delivers the text of the next worker', async () => {
  const own = await openFixture();
  onTestFinished(() => own.close());
  const { turn } = await own.client.enqueueTurn({ conversation: 'c1', agent, input: 'hello' });
  const parts = own.client.stream('c1', turn)[Symbol.asyncIterator]();
  const first = parts.next();
  await expect.poll(() => own.redis.exists(keyOf('c1', turn)), POLL).toBe(1);
  const script = fileURLToPath(new URL('../silent-worker.ts', import.meta.url));
  const child = spawn(process.execPath, [script, own.url], { stdio: 'inherit' });
  onTestFinished(() => void child.kill('SIGKILL'));
  const { value } = await first;
  expect(value).toMatchObject(text('It is bl'));
  child.kill('SIGKILL');
  await once(child, 'exit');
  await own.startWorkers([createSpeaker(() => 'It is red.')]);
  const received = await takeAll(parts);
  expect(received[0]).toMatchObject({ type: 'restart', step: 1 });
  const log = await own.client.log('c1');
  for (const reader of [
    applyAll([value as TurnPart, ...received]),
    applyAll(await takeAll(own.client.stream('c1', turn)[Symbol.asyncIterator]())),
    applyAll(
      await takeAll(own.client.stream('c1', turn, { after: (value as TurnPart).id })[Symbol.asyncIterator]()),
      applyAll([value as TurnPart]),
    ),
  ]) {
    expect(reader.messages).toEqual(messagesOf(log, turn));
  }
  expect(log.map(({ message }) => message.content)).toEqual(['hello', 'It is red.']);
});

import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import type { EnqueueInput, EventOrLoss, TurnView } from '../../src/api/client/index.ts';
import type { Agent } from '../../src/domain/agent.ts';
import { scriptedModel } from '../../src/providers/scripted.ts';
import { type Fixture, openFixture } from './fixture.ts';

/** Turns whose tool is running, and functions that end that tool call, by conversation. */
const running = new Map<string, () => void>();

/** An agent that calls the tool `hold` for the input `hold`, and otherwise repeats all user messages that it sees. */
const agent: Agent = {
  name: 'talker',
  system: 'You talk.',
  policy: {},
  tools: [
    {
      name: 'hold',
      description: 'waits for the test',
      input: z.object({}),
      run: async (_, { conversation, signal }) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        signal.addEventListener('abort', () => resolve());
        running.set(conversation, resolve);
        await promise;
        return 'held';
      },
    },
  ],
  model: scriptedModel({
    decide: ({ messages }) => {
      const last = messages.at(-1);
      if (last?.role === 'user' && last.content === 'hold') return { toolCalls: [{ name: 'hold', arguments: {} }] };
      const heard = messages.filter(({ role }) => role === 'user').map(({ content }) => content);
      return { content: `heard ${heard.join(', ')}` };
    },
  }),
};

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([agent]);
});
afterAll(async () => {
  for (const end of running.values()) end();
  await fixture.close();
});

/** Enqueues a turn that holds, and waits until its tool runs. */
async function hold(conversation: string): Promise<() => void> {
  await fixture.client.enqueueTurn({ conversation, agent: 'talker', input: 'hold', turn: 'held' });
  await expect.poll(() => running.has(conversation), { timeout: 60_000 }).toBe(true);
  return running.get(conversation) ?? (() => undefined);
}

async function ask(conversation: string, turn: string, onBusy: EnqueueInput['onBusy']): Promise<TurnView> {
  await fixture.client.enqueueTurn({ conversation, agent: 'talker', input: turn, turn, onBusy });
  return await fixture.client.result(conversation, turn, { waitMs: 60_000 });
}

async function contextOf(conversation: string): Promise<string[]> {
  const { items } = await fixture.client.context(conversation);
  return items.map(({ message: { role, content } }) => `${role}: ${content}`);
}

test('a turn with onBusy reject fails with conversation_busy while another turn runs, and runs in an idle conversation', async () => {
  const release = await hold('c-reject');
  const refused = fixture.client.enqueueTurn({
    conversation: 'c-reject',
    agent: 'talker',
    input: 'x',
    onBusy: 'reject',
  });
  await expect(refused).rejects.toMatchObject({
    code: 'conversation_busy',
    field: 'conversation',
    details: { queued: 1 },
  });
  release();
  await fixture.client.result('c-reject', 'held', { waitMs: 60_000 });
  expect(await ask('c-reject', 'x', 'reject')).toMatchObject({ answer: { content: 'heard hold, x' } });
});

test('onBusy interrupt cancels the running turn, and the model sees what the turn has recorded', async () => {
  await hold('c-interrupt');
  expect(await ask('c-interrupt', 'new', 'interrupt')).toMatchObject({ answer: { content: 'heard hold, new' } });
  expect(await fixture.client.result('c-interrupt', 'held')).toMatchObject({ state: 'canceled' });
  const context = await contextOf('c-interrupt');
  expect(context.map((message) => message.split(':')[0])).toEqual(['user', 'assistant', 'tool', 'user', 'assistant']);
});

test('onBusy rollback cancels the running turn and hides its messages from the model, while the log keeps them', async () => {
  await ask('c-rollback', 'first', 'enqueue');
  await hold('c-rollback');
  expect(await ask('c-rollback', 'new', 'rollback')).toMatchObject({ answer: { content: 'heard first, new' } });
  expect(await contextOf('c-rollback')).toEqual([
    'user: first',
    'assistant: heard first',
    'user: new',
    'assistant: heard first, new',
  ]);
  expect((await fixture.client.log('c-rollback')).map(({ message }) => message.role)).toEqual([
    'user',
    'assistant',
    'user',
    'assistant',
    'tool',
    'user',
    'assistant',
  ]);
  expect((await fixture.client.versions('c-rollback')).map(({ cause }) => cause)).toEqual(['rollback']);
  expect(await ask('c-rollback', 'later', 'rollback')).toMatchObject({
    answer: { content: 'heard first, new, later' },
  });
});

test('onBusy rollback of the first turn of a conversation leaves an empty context for the new turn', async () => {
  await hold('c-first');
  expect(await ask('c-first', 'edited', 'rollback')).toMatchObject({ answer: { content: 'heard edited' } });
  expect(await contextOf('c-first')).toEqual(['user: edited', 'assistant: heard edited']);
  expect(await ask('c-first', 'later', 'enqueue')).toMatchObject({ answer: { content: 'heard edited, later' } });
});

test('two onBusy rollbacks in a row at the start of a conversation leave the messages of both canceled turns out of the context', async () => {
  await hold('c-twice');
  running.delete('c-twice');
  const again = { conversation: 'c-twice', agent: 'talker', input: 'hold', turn: 'again', onBusy: 'rollback' } as const;
  await fixture.client.enqueueTurn(again);
  await expect.poll(() => running.has('c-twice'), { timeout: 60_000 }).toBe(true);
  expect(await ask('c-twice', 'third', 'rollback')).toMatchObject({ answer: { content: 'heard third' } });
  expect(await contextOf('c-twice')).toEqual(['user: third', 'assistant: heard third']);
});

test('onBusy steer puts the message into the running turn before its next model call, and both turns get the answer', async () => {
  const release = await hold('c-steer');
  const steer: EnqueueInput = { conversation: 'c-steer', agent: 'talker', input: 'also', turn: 's1', onBusy: 'steer' };
  expect(await fixture.client.enqueueTurn(steer)).toMatchObject({ state: 'queued', isNew: true });
  expect(await fixture.client.enqueueTurn(steer)).toMatchObject({ state: 'queued', isNew: false });
  release();
  const steered = await fixture.client.result('c-steer', 's1', { waitMs: 60_000 });
  const answer = { content: 'heard hold, also' };
  expect(steered).toMatchObject({ state: 'completed', steeredInto: 'held', answer });
  expect(await fixture.client.result('c-steer', 'held')).toMatchObject({ state: 'completed', answer });
  expect((await contextOf('c-steer')).slice(2)).toEqual(['tool: held', 'user: also', 'assistant: heard hold, also']);
  expect(await fixture.client.enqueueTurn(steer)).toMatchObject({ state: 'completed', isNew: false });
});

test('the stream and the events of a turn show where a steering message entered the turn', async () => {
  const release = await hold('c-place');
  const read = readTypes('c-place', 'held');
  await fixture.client.enqueueTurn({
    conversation: 'c-place',
    agent: 'talker',
    input: 'also',
    turn: 's1',
    onBusy: 'steer',
  });
  release();
  const expected = [
    'tool-call',
    'tool-result held',
    'steering also of s1 at 4',
    'text heard hold, also',
    'end heard hold, also',
  ];
  expect(await read).toEqual(expected);
  expect(await readTypes('c-place', 'held'), 'a reader that comes late').toEqual(expected);
  const events: EventOrLoss[] = [];
  for await (const event of fixture.client.events('c-place', { after: '0', waitMs: 0 })) events.push(event);
  expect(events[0]).toMatchObject({ type: 'turn_steered', turn: 's1', into: 'held', seq: 4 });
});

/** Reads the parts of a turn to its end, one line for each. The pieces of a text are one line, previews are none. */
async function readTypes(conversation: string, turn: string): Promise<string[]> {
  const lines: string[] = [];
  for await (const part of fixture.client.stream(conversation, turn)) {
    if (part.type === 'text')
      lines.push(lines.at(-1)?.startsWith('text ') ? `${lines.pop()}${part.piece}` : `text ${part.piece}`);
    else if (part.type === 'tool-result') lines.push(`${part.type} ${part.content}`);
    else if (part.type === 'steering') lines.push(`steering ${part.content} of ${part.turn} at ${part.seq}`);
    else if (part.type === 'end') lines.push(`end ${part.view.answer?.content}`);
    else if (part.type === 'tool-call') lines.push(part.type);
  }
  return lines;
}

test('a turn with onBusy steer runs as a turn of its own if no other turn is open', async () => {
  expect(await ask('c-alone', 'x', 'steer')).toMatchObject({ state: 'completed', answer: { content: 'heard x' } });
});

test('a delayed turn is refused with any onBusy except enqueue', async () => {
  const later = { conversation: 'c-later', agent: 'talker', input: 'x', delayMs: 3_600_000 } as const;
  for (const onBusy of ['reject', 'interrupt', 'rollback', 'steer'] as const) {
    const refused = fixture.client.enqueueTurn({ ...later, onBusy });
    await expect(refused).rejects.toMatchObject({ code: 'invalid_input', field: 'onBusy' });
  }
  expect(await fixture.client.enqueueTurn({ ...later, onBusy: 'enqueue' })).toMatchObject({ state: 'scheduled' });
});

test.each(['interrupt', 'rollback', 'steer'] as const)(
  'a late %s that names an ended turn does not touch the next turn',
  async (onBusy) => {
    const conversation = `c-late-${onBusy}`;
    await ask(conversation, 'first', 'enqueue');
    const release = await hold(conversation);
    const late = { conversation, agent: 'talker', input: 'late', turn: 'late', onBusy, busyTurn: 'first' } as const;
    expect(await fixture.client.enqueueTurn(late)).toMatchObject({ state: 'queued', isNew: true });
    expect(await fixture.client.enqueueTurn(late)).toMatchObject({ state: 'queued', isNew: false });
    const other = fixture.client.enqueueTurn({ ...late, busyTurn: 'held' });
    await expect(other).rejects.toMatchObject({ code: 'turn_conflict' });
    expect(await fixture.client.result(conversation, 'held')).toMatchObject({ state: 'running' });
    release();
    expect(await fixture.client.result(conversation, 'held', { waitMs: 60_000 })).toMatchObject({ state: 'completed' });
    expect(await fixture.client.result(conversation, 'late', { waitMs: 60_000 })).toMatchObject({
      answer: { content: 'heard first, hold, late' },
    });
  },
);

test('onBusy interrupt that names the running turn cancels that turn', async () => {
  await hold('c-named');
  const input = { conversation: 'c-named', agent: 'talker', input: 'new', turn: 'new' } as const;
  await fixture.client.enqueueTurn({ ...input, onBusy: 'interrupt', busyTurn: 'held' });
  expect(await fixture.client.result('c-named', 'held')).toMatchObject({ state: 'canceled' });
});

test.each([undefined, 'enqueue', 'reject'] as const)(
  'a turn with onBusy %s is refused if it names a busyTurn',
  async (onBusy) => {
    const input = { conversation: 'c-none', agent: 'talker', input: 'x', onBusy, busyTurn: 't1' };
    const refused = fixture.client.enqueueTurn(input);
    await expect(refused).rejects.toMatchObject({ code: 'invalid_input', field: 'busyTurn' });
  },
);

test('canceling a turn whose message was steered into a running turn ends both turns', async () => {
  const release = await hold('c-both');
  const steer = { conversation: 'c-both', agent: 'talker', input: 'hold', turn: 's1', onBusy: 'steer' } as const;
  running.delete('c-both');
  await fixture.client.enqueueTurn(steer);
  release();
  await expect.poll(() => running.has('c-both'), { timeout: 60_000 }).toBe(true);
  expect(await fixture.client.cancel('c-both', 's1')).toBe('canceled');
  expect(await fixture.client.result('c-both', 'held')).toMatchObject({ state: 'canceled' });
  expect(await fixture.client.cancel('c-both', 's1')).toBe('canceled');
});

import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EnqueueAnswer, EnqueueInput } from '../../../src/api/client/index.ts';
import { type Fixture, isOverHttp, openFixture } from '../fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

const agent = 'talker';

function listTurns(count: number, conversationOf: (at: number) => string) {
  return Array.from({ length: count }, (_, at) => ({
    conversation: conversationOf(at),
    agent,
    input: `${at}`,
    turn: `t${at}`,
  }));
}

function outcomeOf(answer: EnqueueAnswer): string {
  return answer.status === 'enqueued' ? `${answer.conversation} ${answer.turn}` : answer.error.code;
}

test('enqueueTurns accepts turns of many conversations, and answers in the order of the list', async () => {
  const inputs = listTurns(40, (at) => `many-${at % 13}`);
  const answers = await fixture.client.enqueueTurns(inputs);
  expect(answers.map(outcomeOf)).toEqual(inputs.map(({ conversation, turn }) => `${conversation} ${turn}`));
  expect(answers[0]).toStrictEqual({
    status: 'enqueued',
    tenant: '_',
    conversation: 'many-0',
    turn: 't0',
    state: 'queued',
    isNew: true,
  });
  const { turns } = await fixture.client.openTurns('many-0', { inputs: true });
  expect(turns.map(({ turn, input }) => `${turn} ${input}`)).toEqual(['t0 0', 't13 13', 't26 26', 't39 39']);
});

test('enqueueTurns called again with the same turn ids accepts nothing, and returns the current states', async () => {
  const inputs = [1, 2].map((at) => ({ conversation: 'again', agent, input: `${at}`, turn: `t${at}` }));
  await fixture.client.enqueueTurns(inputs);
  await fixture.client.cancel('again', 't1');
  const answers = await fixture.client.enqueueTurns(inputs);
  expect(answers).toMatchObject([
    { status: 'enqueued', state: 'canceled', isNew: false },
    { status: 'enqueued', state: 'queued', isNew: false },
  ]);
  expect((await fixture.client.openTurns('again')).mailbox).toBe(1);
});

test('a turn without an id gets a new id from enqueueTurns', async () => {
  const turn = { conversation: 'unnamed', agent, input: 'x' };
  const answers = await fixture.client.enqueueTurns([turn, turn]);
  const ids = answers.map((answer) => (answer.status === 'enqueued' ? answer.turn : ''));
  expect((ids[1] ?? '') > (ids[0] ?? '')).toBe(true);
  expect(answers).toMatchObject([{ isNew: true }, { isNew: true }]);
});

test('enqueueTurns returns the error of a refused turn in its place, and accepts the turns after it', async () => {
  const turn = { conversation: 'refused', agent, input: 'x' };
  const answers = await fixture.client.enqueueTurns([
    { ...turn, turn: 't1' },
    { ...turn, turn: 't1', input: 'other' },
    { ...turn, turn: 'a|b' },
    { ...turn, turn: 't2', agent: 'other' },
    { ...turn, turn: 't3', onBusy: 'reject' },
    { ...turn, turn: 't4', maxQueuedTurns: 1 },
    { ...turn, turn: 't5', context: { count: 1n } },
    null as unknown as EnqueueInput,
    { ...turn, turn: 't6' },
    { conversation: 'beside', agent, input: 'x', turn: 't1' },
  ]);
  expect(answers.map(outcomeOf)).toEqual([
    'refused t1',
    'turn_conflict',
    'invalid_input',
    'agent_conflict',
    'conversation_busy',
    'mailbox_full',
    'invalid_input',
    'invalid_input',
    'refused t6',
    'beside t1',
  ]);
  expect(answers[4]).toMatchObject({ error: { field: 'conversation', details: { queued: 1 } } });
});

test('enqueueTurns of an empty list returns an empty list', async () => {
  expect(await fixture.client.enqueueTurns([])).toEqual([]);
});

test.each([
  ['no list', {} as EnqueueInput[]],
  ['more than 500 turns', Array.from({ length: 501 }, () => ({ conversation: 'c', agent, input: 'x' }))],
])('enqueueTurns throws invalid_input for %s', async (_, inputs) => {
  await expect(fixture.client.enqueueTurns(inputs)).rejects.toMatchObject({ code: 'invalid_input', field: 'turns' });
});

test('workers answer all turns of enqueueTurns, those of a conversation in order', async () => {
  const inputs = listTurns(12, (at) => `run-${at % 3}`);
  await fixture.startWorkers();
  await fixture.client.enqueueTurns(inputs);
  for (const { conversation, turn } of inputs) {
    expect(await fixture.client.result(conversation, turn, { waitMs: 60_000 })).toMatchObject({ state: 'completed' });
  }
  const log = await fixture.client.log('run-0');
  expect(log.filter(({ message }) => message.role === 'user').map(({ message }) => message.content)).toEqual([
    '0',
    '3',
    '6',
    '9',
  ]);
});

test.skipIf(!isOverHttp())(
  'a turn of enqueueTurns that names another tenant than the key is refused over HTTP',
  async () => {
    const answers = await fixture.client.enqueueTurns([
      { conversation: 'own', agent, input: 'x', turn: 't1' },
      { conversation: 'own', agent, input: 'x', turn: 't2', tenant: 'acme' },
      { conversation: 'own', agent, input: 'x', turn: 't3', tenant: '_' },
    ]);
    expect(answers.map(outcomeOf)).toEqual(['own t1', 'access_denied', 'own t3']);
  },
);

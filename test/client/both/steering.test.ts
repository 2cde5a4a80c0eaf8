import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readAnswers } from '../../../src/api/client/answers.ts';
import type { CallAnswer, TurnView } from '../../../src/api/client/index.ts';
import { loadTokenCounter } from '../../../src/wire/tokens/token-counter.ts';
import { createTalker, type Fixture, openFixture } from '../fixture.ts';

const gate = Promise.withResolvers<void>();
let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([createTalker(gate.promise)]);
});
afterAll(async () => {
  gate.resolve();
  await fixture.close();
});

const agent = 'talker';

async function ask(conversation: string, input: string, turn: string): Promise<void> {
  await fixture.client.enqueueTurn({ conversation, agent, input, turn });
}

/** Waits until the turn is in a state. @returns the turn */
async function inState(conversation: string, turn: string, state: TurnView['state']): Promise<TurnView> {
  await expect
    .poll(async () => (await fixture.client.result(conversation, turn)).state, { timeout: 60_000 })
    .toBe(state);
  return await fixture.client.result(conversation, turn);
}

describe('cancel', () => {
  test('cancel removes a scheduled turn', async () => {
    await fixture.client.enqueueTurn({ conversation: 'c-later', agent, input: 'x', turn: 't1', delayMs: 3_600_000 });
    expect(await fixture.client.cancel('c-later', 't1')).toBe('canceled');
    expect(await fixture.client.result('c-later', 't1')).toMatchObject({ state: 'canceled' });
  });

  test('cancel settles a running or queued turn, and the next turn is answered', async () => {
    await ask('c-running', 'hold', 't1');
    await ask('c-running', 'x', 't2');
    await ask('c-running', 'y', 't3');
    await inState('c-running', 't1', 'running');
    expect(await fixture.client.cancel('c-running', 't2')).toBe('canceled');
    expect(await fixture.client.cancel('c-running', 't1')).toBe('canceled');
    expect(await inState('c-running', 't3', 'completed')).toMatchObject({ answer: { content: 'heard y' } });
    const texts = (await fixture.client.log('c-running')).map(({ message }) => message.content);
    expect(texts).toStrictEqual(['hold', 'y', 'heard y']);
  });

  test('cancel of a waiting turn writes error results for its open tool calls', async () => {
    await ask('c-waiting', 'call ask,echo', 't1');
    await inState('c-waiting', 't1', 'waiting');
    expect(await fixture.client.cancel('c-waiting', 't1')).toBe('canceled');
    const results = (await fixture.client.log('c-waiting')).filter(({ message }) => message.role === 'tool');
    expect(results.map(({ message }) => message.isError === true)).toStrictEqual([false, true]);
    expect((await fixture.client.describe('c-waiting')).openCalls).toStrictEqual([]);
  });

  test('cancel keeps answers that were stored for tool calls as the results of these calls', async () => {
    await ask('c-answered', 'call ask,ask', 't1');
    const { waiting } = await inState('c-answered', 't1', 'waiting');
    const [first = '', second = ''] = waiting?.calls.map(({ id }) => id) ?? [];
    const answer = { [first]: { content: 'The person says "yes".' } };
    expect(await fixture.client.answer('c-answered', 't1', answer)).toBe('still_waiting');
    expect(await fixture.client.cancel('c-answered', 't1')).toBe('canceled');
    const entries = (await fixture.client.log('c-answered')).filter(({ message }) => message.role === 'tool');
    expect(entries.map(({ message }) => [message.toolCallId, message.isError ?? false])).toStrictEqual([
      [first, false],
      [second, true],
    ]);
    expect(entries[0]).toMatchObject({ message: { content: 'The person says "yes".' }, tokens: 10, bytes: 22 });
  });

  test('an approval that no worker acted on becomes an error result in the log when the turn is canceled', async () => {
    for (const [approved, said] of [
      [true, 'the call was approved'],
      [false, 'denied: too dear'],
    ] as const) {
      const stored = await readAnswers(await loadTokenCounter('o200k_base'), {
        c2_0: { approved, ...(!approved && { why: 'too dear' }) },
      });
      expect(stored.get('c2_0')?.unused.json).toContain(said);
      expect(JSON.parse(stored.get('c2_0')?.unused.json ?? '')).toMatchObject({ isError: true });
    }
  });

  test('cancel returns the state of a settled turn', async () => {
    await ask('c-settled', 'x', 't1');
    await inState('c-settled', 't1', 'completed');
    expect(await fixture.client.cancel('c-settled', 't1')).toBe('completed');
    await fixture.client.enqueueTurn({ conversation: 'c-failed', agent: 'nobody', input: 'x', turn: 't1' });
    await inState('c-failed', 't1', 'failed');
    expect(await fixture.client.cancel('c-failed', 't1')).toBe('failed');
  });

  test.each([
    ['not_found', 'nobody'],
    ['invalid_input', 'a b'],
  ])('cancel fails with %s for the turn id %s', async (code, turn) => {
    await expect(fixture.client.cancel('c-settled', turn)).rejects.toMatchObject({ code, field: 'turn' });
  });
});

describe('answers to calls of a waiting turn', () => {
  test('the calls of a waiting turn can be answered one after the other, and the first answer to each call counts', async () => {
    await ask('a-tools', 'call ask,ask', 't1');
    const { waiting } = await inState('a-tools', 't1', 'waiting');
    const [first = '', second = ''] = (waiting?.calls ?? []).map(({ id }) => id);
    expect(waiting?.for).toBe('tools');
    expect(await fixture.client.answer('a-tools', 't1', { [first]: { content: 'yes' } })).toBe('still_waiting');
    expect(await fixture.client.answer('a-tools', 't1', { [first]: { content: 'yes' } })).toBe('still_waiting');
    await expect(fixture.client.answer('a-tools', 't1', { [first]: { content: 'no' } })).rejects.toMatchObject({
      code: 'conflict',
      field: `answers.${first}`,
    });
    const answers = { [second]: { content: 'broken', isError: true } };
    expect(await fixture.client.answer('a-tools', 't1', answers)).toBe('answered');
    const view = await inState('a-tools', 't1', 'completed');
    expect(view.answer?.content).toBe('yes | broken');
  });

  test.each<[string, CallAnswer, RegExp]>([
    ['a-approved', { approved: true }, /^risked$/],
    ['a-denied', { approved: false, why: 'not today' }, /not today/],
  ])('an approval allows or denies a call: %s', async (conversation, answer, heard) => {
    await ask(conversation, 'call risk', 't1');
    const { waiting } = await inState(conversation, 't1', 'waiting');
    expect(waiting?.for).toBe('approval');
    expect(await fixture.client.answer(conversation, 't1', { [waiting?.calls[0]?.id ?? '']: answer })).toBe('answered');
    expect((await inState(conversation, 't1', 'completed')).answer?.content).toMatch(heard);
  });

  test('answer fails with a conflict if the turn does not wait for the answered tool call', async () => {
    await ask('a-conflict', 'call ask', 't1');
    await inState('a-conflict', 't1', 'waiting');
    await ask('a-conflict', 'x', 't2');
    for (const turn of ['t1', 't2']) {
      const call = fixture.client.answer('a-conflict', turn, { c99_0: { content: 'x' } });
      await expect(call).rejects.toMatchObject({ code: 'conflict', field: 'answers.c99_0' });
    }
  });

  test.each<[string, string, object]>([
    ['invalid_input', 'answers', {}],
    ['invalid_input', 'answers.c2_0', { c2_0: 'yes' }],
    ['invalid_input', 'answers.c2_0', { c2_0: { content: 7 } }],
    ['invalid_input', 'answers.c2_0', { c2_0: { approved: 'yes' } }],
    ['invalid_input', 'answers.c2_0', { c2_0: { content: 'x', approved: true } }],
    ['message_too_large', 'answers.c2_0', { c2_0: { content: 'x'.repeat(1_048_577) } }],
  ])(
    'client.answer refuses a malformed answer to a tool call with %s and the field %s, and the turn keeps waiting',
    async (code, field, answers) => {
      await ask('a-malformed', 'call ask', 't1');
      await inState('a-malformed', 't1', 'waiting');
      const call = fixture.client.answer('a-malformed', 't1', answers as Record<string, CallAnswer>);
      await expect(call).rejects.toMatchObject({ code, field });
      expect(await fixture.client.result('a-malformed', 't1')).toMatchObject({ state: 'waiting' });
    },
  );

  test('the answers that are passed to one call of answer are stored all together or not at all', async () => {
    await ask('a-mixed', 'call risk,ask', 't1');
    const { waiting } = await inState('a-mixed', 't1', 'waiting');
    const [risk = '', asked = ''] = (await fixture.client.describe('a-mixed')).openCalls.map(({ id }) => id);
    expect(waiting).toMatchObject({ for: 'approval', calls: [{ id: risk, name: 'risk', arguments: '{}' }] });
    const bring = (answers: Record<string, CallAnswer>) => fixture.client.answer('a-mixed', 't1', answers);
    const both = bring({ [risk]: { approved: true }, [asked]: { content: 'blue' } });
    await expect(both).rejects.toMatchObject({ code: 'conflict', field: `answers.${asked}` });
    expect(await bring({ [risk]: { approved: true } })).toBe('answered');
    await expect.poll(async () => (await inState('a-mixed', 't1', 'waiting')).waiting?.for).toBe('tools');
    expect(await bring({ [risk]: { approved: true }, [asked]: { content: 'blue' } })).toBe('answered');
    expect((await inState('a-mixed', 't1', 'completed')).answer?.content).toBe('risked | blue');
  });

  test.each<[string, CallAnswer, CallAnswer, string]>([
    ['risk', { content: 'yes, please' }, { approved: true }, 'risked'],
    ['ask', { approved: true }, { content: 'blue' }, 'blue'],
  ])(
    'client.answer refuses the wrong kind (result instead of approval, or the reverse), and a correct answer still counts: %s',
    async (tool, wrong, right, heard) => {
      const conversation = `a-kind-${tool}`;
      await ask(conversation, `call ${tool}`, 't1');
      const { waiting } = await inState(conversation, 't1', 'waiting');
      const call = waiting?.calls[0]?.id ?? '';
      const refused = fixture.client.answer(conversation, 't1', { [call]: wrong });
      await expect(refused).rejects.toMatchObject({ code: 'invalid_input', field: `answers.${call}` });
      expect(await fixture.client.answer(conversation, 't1', { [call]: right })).toBe('answered');
      expect((await inState(conversation, 't1', 'completed')).answer?.content).toBe(heard);
    },
  );

  test('an answer to an unknown turn fails with not_found', async () => {
    const call = fixture.client.answer('a-tools', 'nobody', { c1_0: { content: 'x' } });
    await expect(call).rejects.toMatchObject({ code: 'not_found', field: 'turn' });
  });
});

describe('erase', () => {
  test('erase removes all data of a conversation, and a later conversation with the same id starts empty', async () => {
    await ask('gone', 'x', 't1');
    await inState('gone', 't1', 'completed');
    const { removedKeys } = await fixture.client.erase('gone');
    expect(removedKeys).toBeGreaterThan(0);
    await expect(fixture.client.describe('gone')).rejects.toMatchObject({ code: 'not_found' });
    await expect(fixture.client.result('gone', 't1')).rejects.toMatchObject({ code: 'not_found' });
    await expect(fixture.client.cancel('gone', 't1')).rejects.toMatchObject({ code: 'not_found' });

    await ask('gone', 'y', 't1');
    expect(await inState('gone', 't1', 'completed')).toMatchObject({ answer: { content: 'heard y', seq: 2 } });
  });

  test('erase ends a running turn without an error or result', async () => {
    await ask('gone-running', 'hold', 't1');
    await inState('gone-running', 't1', 'running');
    await fixture.client.erase('gone-running');
    await ask('gone-running', 'x', 't2');
    expect(await inState('gone-running', 't2', 'completed')).toMatchObject({ answer: { content: 'heard x' } });
  });

  test('erase of an unknown conversation removes nothing', async () => {
    expect(await fixture.client.erase('never-there')).toStrictEqual({ removedKeys: 0 });
  });
});

describe('openTurns', () => {
  test('openTurns lists the turns and calls that a service needs to answer or cancel', async () => {
    const { client } = fixture;
    await ask('o-lost', 'call ask', 'asks');
    await inState('o-lost', 'asks', 'waiting');
    await ask('o-lost', 'x', 'wrong');
    await client.enqueueTurn({ conversation: 'o-lost', agent, input: 'y', turn: 'later', delayMs: 3_600_000 });
    const { turns, ...counts } = await client.openTurns('o-lost');
    expect(turns).toMatchObject([
      { turn: 'asks', state: 'waiting', waiting: { for: 'tools' } },
      { turn: 'wrong', state: 'queued' },
      { turn: 'later', state: 'scheduled' },
    ]);
    expect(counts).toEqual({ mailbox: 2, scheduled: 1, at: expect.any(Number) });
    expect(turns.map(({ input }) => input)).toEqual([undefined, undefined, undefined]);
    const asked = await client.openTurns('o-lost', { inputs: true });
    expect(asked.turns.map(({ input }) => input)).toEqual([undefined, 'x', 'y']);
    const [first, ...others] = turns;
    const answers = (first?.waiting?.calls ?? []).map(({ id }) => [id, { content: 'told' }] as const);
    for (const { turn } of others) expect(await client.cancel('o-lost', turn)).toBe('canceled');
    expect(await client.answer('o-lost', first?.turn ?? '', Object.fromEntries(answers))).toBe('answered');
    expect(await inState('o-lost', 'asks', 'completed')).toMatchObject({ answer: { content: 'told' } });
    expect(await client.openTurns('o-lost')).toMatchObject({ turns: [], mailbox: 0, scheduled: 0 });
  });

  test('openTurns fails for an unknown conversation and for an invalid limit', async () => {
    const { client } = fixture;
    await expect(client.openTurns('o-nobody')).rejects.toMatchObject({ code: 'not_found', field: 'conversation' });
    for (const limit of [0, 1_001, 1.5]) {
      await expect(client.openTurns('o-nobody', { limit })).rejects.toMatchObject({
        code: 'invalid_input',
        field: 'limit',
      });
    }
  });
});

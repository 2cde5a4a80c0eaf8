import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AppendInput } from '../../../src/api/client/index.ts';
import { type Fixture, openFixture } from '../fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

type Messages = AppendInput['messages'];
const agent = 'talker';
const user = (content: string): Messages[number] => ({ role: 'user', content });
const calls = (...ids: string[]): Messages[number] => ({
  role: 'assistant',
  content: '',
  toolCalls: ids.map((id) => ({ id, name: 'look', arguments: '{}' })),
});
const result = (toolCallId: string): Messages[number] => ({ role: 'tool', content: `of ${toolCallId}`, toolCallId });

function append(conversation: string, messages: Messages, options: Partial<AppendInput> = {}) {
  return fixture.client.append({ conversation, agent, messages, ...options });
}

test('append gives the new messages the next sequence numbers of the log', async () => {
  expect(await append('plain', [user('a'), { role: 'assistant', content: 'b' }])).toStrictEqual({ from: 1, to: 2 });
  expect(await append('plain', [user('c')])).toStrictEqual({ from: 3, to: 3 });
  const log = await fixture.client.log('plain');
  expect(log.map(({ seq, message }) => [seq, message.content])).toStrictEqual([
    [1, 'a'],
    [2, 'b'],
    [3, 'c'],
  ]);
});

describe('an append repeated under its operation id', () => {
  test('append returns the same sequence numbers when it is repeated with its operation id, even if the log has grown', async () => {
    const first = await append('twice', [user('a')], { operation: 'op-1' });
    await append('twice', [user('b')]);
    expect(await append('twice', [user('a')], { operation: 'op-1' })).toStrictEqual(first);
    expect((await fixture.client.describe('twice')).head).toBe(2);
  });

  test('append accepts repeated tool results if the operation id is the same, and does not refuse them as duplicates', async () => {
    await append('twice-calls', [user('a'), calls('x')]);
    const first = await append('twice-calls', [result('x')], { operation: 'op-1' });
    expect(await append('twice-calls', [result('x')], { operation: 'op-1' })).toStrictEqual(first);
    expect((await fixture.client.describe('twice-calls')).head).toBe(3);
  });

  test('append refuses an operation id of an earlier append with other messages, even if the new messages are invalid themselves', async () => {
    await append('other', [user('a')], { operation: 'op-1' });
    for (const message of [user('b'), result('nowhere')]) {
      const reused = append('other', [message], { operation: 'op-1' });
      await expect(reused).rejects.toMatchObject({ code: 'operation_conflict', field: 'operation' });
    }
    expect((await fixture.client.describe('other')).head).toBe(1);
  });
});

describe('an append with an expected head', () => {
  test('append fails with a conflict if the last message of the log is not number expectedHead, and the error contains the actual number', async () => {
    await append('heads', [user('a')], { expectedHead: 0 });
    const late = append('heads', [user('b')], { expectedHead: 0 });
    await expect(late).rejects.toMatchObject({ code: 'conflict', field: 'expectedHead', details: { head: 1 } });
    expect(await append('heads', [user('b')], { expectedHead: 1 })).toStrictEqual({ from: 2, to: 2 });
  });

  test('append with expectedHead fails with a conflict if another append has already answered the tool call', async () => {
    await append('heads-calls', [user('a'), calls('x')]);
    await append('heads-calls', [result('x')], { expectedHead: 2 });
    const late = append('heads-calls', [result('x')], { expectedHead: 2 });
    await expect(late).rejects.toMatchObject({ code: 'conflict', details: { head: 3 } });
  });

  test('concurrent appends without expectedHead all write their messages', async () => {
    const texts = ['a', 'b', 'c', 'd'];
    await Promise.all(texts.map((text) => append('crowd', [user(text)])));
    const log = await fixture.client.log('crowd');
    expect(log.map(({ message }) => message.content).toSorted()).toStrictEqual(texts);
  });
});

describe('tool results in an append', () => {
  test('an appended tool result may refer to an earlier call by the id of the caller or the id in the log', async () => {
    await append('rounds', [user('a'), calls('mine-1', 'mine-2')]);
    await append('rounds', [result('mine-2')]);
    await append('rounds', [result('c2_0')]);
    const [, round, ...results] = (await fixture.client.log('rounds')).map(({ message }) => message);
    expect(round?.toolCalls).toMatchObject([
      { id: 'c2_0', providerId: 'mine-1' },
      { id: 'c2_1', providerId: 'mine-2' },
    ]);
    expect(results.map(({ toolCallId }) => toolCallId)).toStrictEqual(['c2_1', 'c2_0']);
    expect((await fixture.client.describe('rounds')).openCalls).toStrictEqual([]);
  });

  test('append accepts a tool call under the id of an earlier call that is already answered', async () => {
    await append('reuse', [user('a'), calls('x'), result('x'), calls('x'), result('x')]);
    const ids = (await fixture.client.log('reuse')).map(
      ({ message }) => message.toolCallId ?? message.toolCalls?.[0]?.id,
    );
    expect(ids).toStrictEqual([undefined, 'c2_0', 'c2_0', 'c4_0', 'c4_0']);
  });

  test.each<[string, string, Messages]>([
    ['orphan_result', 'messages[1].toolCallId', [user('a'), result('nobody')]],
    ['orphan_result', 'messages[0].toolCallId', [{ role: 'tool', content: 'of nothing' }]],
  ])('append fails with %s, its error names the field %s, and nothing is written', async (code, field, messages) => {
    const conversation = `refused-${code}-${messages.length}-${String(messages[0]?.role)}`;
    await expect(append(conversation, messages)).rejects.toMatchObject({ code, field });
    await expect(fixture.client.describe(conversation)).rejects.toMatchObject({ code: 'not_found' });
  });

  test.each<[string, string, Messages, number]>([
    ['a result before its call', 'messages[0]', [result('x'), calls('x')], 2],
    ['a second result of a call', 'messages[2]', [calls('x'), result('x'), result('x')], 2],
    ['two calls with one id', 'messages[0].toolCalls[1].id', [calls('x', 'x'), result('x'), result('x')], 3],
    ['a result behind a later message', 'messages[2]', [calls('x'), user('a'), result('x')], 3],
    ['a call without a result', 'messages[0]', [calls('x'), user('a')], 3],
  ])(
    'append repairs %s with a note about %s, and with the option strict refuses the same messages',
    async (name, at, messages, length) => {
      const conversation = name.replaceAll(' ', '-');
      const strict = append(conversation, messages, { strict: true });
      await expect(strict).rejects.toMatchObject({ code: 'invalid_input', field: at });
      await expect(fixture.client.describe(conversation)).rejects.toMatchObject({ code: 'not_found' });
      const appended = await append(conversation, messages);
      expect(appended).toMatchObject({ from: 1, to: length, notes: [{ at, kind: 'repaired' }] });
      const log = (await fixture.client.log(conversation)).map(({ message }) => message);
      const answered = log.flatMap(({ toolCallId }) => toolCallId ?? []);
      expect(answered).toStrictEqual(log.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id)));
    },
  );

  test('an appended user or assistant message closes the open tool calls of the log, and a system message leaves them open', async () => {
    await append('passed', [user('a'), calls('x', 'y')]);
    await append('passed', [result('y')]);
    expect(await append('passed', [{ role: 'system', content: 'Be brief.' }])).toStrictEqual({ from: 4, to: 4 });
    expect((await fixture.client.describe('passed')).openCalls).toHaveLength(1);
    const appended = await append('passed', [user('b')]);
    expect(appended).toMatchObject({ from: 5, to: 6, notes: [{ kind: 'repaired', at: 'call c2_0 of the log' }] });
    expect((await fixture.client.describe('passed')).openCalls).toStrictEqual([]);
    await expect(append('passed', [result('x')])).rejects.toMatchObject({ code: 'orphan_result' });
  });
});

test('append accepts messages in the formats of other programs', async () => {
  const appended = await append('foreign', [
    { role: 'user', content: [{ type: 'text', text: 'Which port?' }] },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'read', input: { path: 'a.yml' } }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'port: 9417' }] },
    { role: 'assistant', content: null, tool_calls: [{ function: { name: 'weather', arguments: { city: 'Graz' } } }] },
    { role: 'tool', tool_name: 'weather', content: '21' },
  ]);
  expect(appended).toStrictEqual({ from: 1, to: 5 });
  expect((await fixture.client.log('foreign')).map(({ message }) => message)).toMatchObject([
    { role: 'user', content: 'Which port?' },
    { role: 'assistant', toolCalls: [{ name: 'read', arguments: '{"path":"a.yml"}' }] },
    { role: 'tool', toolCallId: 'c2_0', content: 'port: 9417' },
    { role: 'assistant', toolCalls: [{ name: 'weather', arguments: '{"city":"Graz"}' }] },
    { role: 'tool', toolCallId: 'c4_0', content: '21' },
  ]);
});

test.each([
  ['plain messages', [user('b')]],
  ['results that answer nothing', [result('nothing')]],
])(
  'append of %s with another agent than that of the conversation fails with agent_conflict',
  async (name, messages) => {
    const conversation = name.replaceAll(' ', '-');
    await append(conversation, [user('a')]);
    await expect(append(conversation, messages, { agent: 'other' })).rejects.toMatchObject({
      code: 'agent_conflict',
      field: 'agent',
      details: { agent },
    });
    expect(await fixture.client.log(conversation)).toHaveLength(1);
  },
);

test('append fails with conversation_busy while the conversation has unsettled turns', async () => {
  await fixture.client.enqueueTurn({ conversation: 'busy', agent, input: 'x', turn: 't1' });
  await expect(append('busy', [user('a')])).rejects.toMatchObject({ code: 'conversation_busy', field: 'conversation' });
  await fixture.client.cancel('busy', 't1');
  expect(await append('busy', [user('a')])).toMatchObject({ from: 1 });
});

test('append with a message that is too large writes nothing, and the error names the message', async () => {
  const large = user('x'.repeat(1_048_577));
  await expect(append('heavy', [user('a'), large])).rejects.toMatchObject({
    code: 'message_too_large',
    field: 'messages[1]',
  });
  await expect(fixture.client.log('heavy')).rejects.toMatchObject({ code: 'not_found' });
});

test.each<[string, object]>([
  ['messages', { messages: [] }],
  ['messages[0].role', { messages: [{ role: 'robot', content: '' }] }],
  ['messages[0].content', { messages: [{ role: 'user' }] }],
  ['messages[0].toolCalls[0].name', { messages: [{ role: 'assistant', content: '', toolCalls: [{ id: 'a' }] }] }],
  ['operation', { operation: 'a b' }],
  ['expectedHead', { expectedHead: -1 }],
  ['conversation', { conversation: '' }],
])('the error of an append with an invalid field names the field %s', async (field, change) => {
  const payload = { conversation: 'malformed', agent, messages: [user('a')], ...change } as AppendInput;
  await expect(fixture.client.append(payload)).rejects.toMatchObject({ code: 'invalid_input', field });
});

import { expect, it } from 'vitest';
import type { ModelAnswer } from '../../../src/domain/model.ts';
import { scriptedModel } from '../../../src/providers/scripted.ts';
import { Fixture } from './fixture.ts';

const CALL = { id: 'call_1', name: 'read', arguments: '{}' };
const { profile } = scriptedModel({ decide: () => ({}) });

it.each<[unknown, string]>([
  [undefined, 'answer'],
  [null, 'answer'],
  ['private', 'answer'],
  [{ content: 'private' }, 'answer.toolCalls'],
  [{ content: 'private', toolCalls: null }, 'answer.toolCalls'],
  [{ toolCalls: [CALL] }, 'answer.content'],
  [{ content: [{ text: 'private' }], toolCalls: [] }, 'answer.content'],
  [{ content: '', toolCalls: [{ ...CALL, arguments: { private: 1 } }] }, 'answer.toolCalls[0].arguments'],
])('a custom model that answers %j fails its turn at once, and the failure names the field', async (given, field) => {
  const told: string[] = [];
  const world = await Fixture.open({
    model: { profile, generate: async () => given as ModelAnswer },
    wrap: (ports) => ({ ...ports, onContent: ({ type }) => told.push(type) }),
  });
  await world.accept('t1', 'Hi');
  expect(await world.deliver()).toBe('done');
  const { failure } = (await world.view('t1')) ?? {};
  expect(failure).toMatchObject({ code: 'model_failed', message: expect.stringContaining(`: ${field}: `) });
  expect(failure?.message).not.toContain('private');
  expect(world.eventsOf('model_called')).toHaveLength(1);
  expect(world.eventsOf('turn_claimed')).toHaveLength(1);
});

it('the token usage of a malformed model answer is reported, because it was paid for', async () => {
  const usage = { inputTotal: 100, output: 20, outputKept: 20 };
  const model = { profile, generate: async () => ({ content: 'x', usage }) as unknown as ModelAnswer };
  const world = await Fixture.open({ model });
  await world.accept('t1', 'Hi');
  await world.deliver();
  expect(world.eventsOf('model_called')).toMatchObject([{ outcome: 'fatal', inputTokens: 100, outputTokens: 20 }]);
});

import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../../src/domain/agent.ts';
import type { ModelRequest } from '../../../src/domain/model.ts';
import { scriptedModel } from '../../../src/providers/scripted.ts';
import { Fixture, ref } from './fixture.ts';

it('a worker does not run a tool call whose arguments the model cut off, and the model reads the reason and continues', async () => {
  const removed: string[] = [];
  const remove = defineTool({
    name: 'remove',
    description: '',
    input: z.object({ path: z.string() }),
    run: async ({ path }) => {
      removed.push(path);
      return 'removed';
    },
  });
  const requests: ModelRequest[] = [];
  const model = {
    profile: { id: 'm', encoding: 'o200k_base', windowTokens: 10_000, outputCapTokens: 100, upperBoundFactor: 1 },
    generate: async (request: ModelRequest) => {
      requests.push(request);
      const call = { id: 'call_1', name: 'remove', arguments: '{"path":"/srv"}' };
      return requests.length === 1
        ? { content: '', toolCalls: [call], end: 'cut_off' as const }
        : { content: 'Too long for one answer.', toolCalls: [] };
    },
  } as const;
  const world = await Fixture.open({ model, tools: [remove] });
  await world.accept('t1', 'Clean up.');
  await world.deliver();
  expect(removed).toEqual([]);
  expect(await world.view('t1')).toMatchObject({ state: 'completed', answer: { content: 'Too long for one answer.' } });
  expect(requests[1]?.messages.at(-1)).toMatchObject({
    role: 'tool',
    isError: true,
    content: expect.stringContaining('cut_off') as string,
  });
});

const ENDS = ['cut_off', 'refusal'] as const;

it.each(ENDS)(
  'a turn whose model cut off its final text is completed, and the turn’s record has the end reason %s',
  async (end) => {
    const world = await Fixture.open({ model: scriptedModel({ decide: () => ({ content: 'Half an ans', end }) }) });
    await world.accept('t1', 'Tell me.');
    await world.deliver();
    expect(await world.view('t1')).toMatchObject({ state: 'completed', answer: { content: 'Half an ans', end } });
    expect((await world.store.readSteps(ref, 't1'))?.steps.get('model-1')).toMatchObject({
      status: 'done',
      end,
    });
  },
);

it('the record of a turn with a complete answer has no end reason', async () => {
  const decide = () => ({ content: 'Whole.', end: 'complete' as const });
  const world = await Fixture.open({ model: scriptedModel({ decide }) });
  await world.accept('t1', 'Tell me.');
  await world.deliver();
  expect((await world.view('t1'))?.answer).toEqual({ seq: 2, content: 'Whole.' });
});

it('the next worker asks the model again if a cut-off answer could not be settled, and completes the turn as cut off', async () => {
  const model = scriptedModel({ decide: () => ({ content: 'Half an ans', end: 'cut_off' }) });
  let isDown = true;
  const world = await Fixture.open({
    model,
    wrap: (ports) => ({
      ...ports,
      turns: {
        ...ports.turns,
        settle: async (...args) => {
          if (isDown) throw new Error('down');
          return ports.turns.settle(...args);
        },
      },
    }),
  });
  await world.accept('t1', 'Tell me.');
  await expect(world.deliver()).rejects.toMatchObject({ cause: new Error('down') });
  isDown = false;
  await world.timers.advance(8_000);
  await world.deliver();
  expect(model.callCount).toBe(2);
  expect(await world.readLog()).toHaveLength(2);
  expect(await world.view('t1')).toMatchObject({ state: 'completed', answer: { end: 'cut_off' } });
});

import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../../src/domain/agent.ts';
import type { ModelRequest } from '../../../src/domain/model.ts';
import { Fixture } from './fixture.ts';

it('a call that was cut off is not run; the model reads why and goes on', async () => {
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

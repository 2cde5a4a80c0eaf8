import { expect, it } from 'vitest';
import type { ModelAnswer } from '../../../src/domain/model.ts';
import { openWorld } from './fixture.ts';

it('a summary fails with the field if the answer of its model lacks a required field', async () => {
  const world = await openWorld({
    wrap: (model) => ({ ...model, generate: async () => ({ content: 'private' }) as ModelAnswer }),
  });
  const summary = await world.summarize();
  expect(summary).toMatchObject({ status: 'failed', why: expect.stringContaining('answer.toolCalls') });
  expect(JSON.stringify(summary)).not.toContain('private');
  expect(world.calls.map(({ outcome }) => outcome)).toEqual(['fatal']);
});

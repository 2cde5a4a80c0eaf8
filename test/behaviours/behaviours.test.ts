import { expect, it } from 'vitest';
import { playBehaviour } from './play-behaviour.ts';
import { BEHAVIOURS } from './table.ts';

it.each(
  BEHAVIOURS.flatMap(({ behaviours }) => behaviours).map((one) => [one.id, one.provider, one.does, one] as const),
)('turnfold handles the provider behaviour %s: %s %s', async (_id, _provider, _does, behaviour) => {
  await expect(playBehaviour(behaviour)).resolves.toBeUndefined();
});

it('the table of provider behaviours has at least 120 entries, each with its own id', () => {
  const ids = BEHAVIOURS.flatMap(({ behaviours }) => behaviours).map(({ id }) => id);
  expect(ids.length).toBeGreaterThanOrEqual(120);
  expect(new Set(ids).size).toBe(ids.length);
});

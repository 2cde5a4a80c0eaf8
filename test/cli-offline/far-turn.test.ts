import { expect, test } from 'vitest';
import type { OpenTurn } from '../../src/api/client/index.ts';
import { describeOpen } from '../../src/cli/turn-text.ts';

const scheduled = (dueAt: number): OpenTurn => ({ turn: 't1', state: 'scheduled', acceptedAt: 1, dueAt });

test('the line of a scheduled turn in `turnfold turns` has its due time', () => {
  expect(describeOpen(scheduled(86_400_000))).toMatch(/ {2}for 1970-01-02T00:00:00\.000Z$/);
});

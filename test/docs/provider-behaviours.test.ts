import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { tabulateBehaviours } from '../../scripts/behaviours-table.ts';

test('docs/reference/provider-behaviours.md has every behaviour of the tests (node scripts/write-behaviours.ts writes them)', () => {
  const page = readFileSync(new URL('../../docs/reference/provider-behaviours.md', import.meta.url), 'utf8');
  expect(page).toContain(`\n${tabulateBehaviours()}\n`);
});

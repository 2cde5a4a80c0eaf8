import { expect, test } from 'vitest';
import { buildFixture } from './fixture.ts';

const kept = { turns: 40, versions: 6, summarized: 3, evicted: 2, tokensPeak: 9000, tokensEnd: 4000, overLimit: 0 };

const broken: ReadonlyArray<{ line: string; says: string }> = [
  { line: JSON.stringify({ ...kept, overLimit: 1 }), says: 'at overLimit' },
  { line: JSON.stringify({ ...kept, evicted: 1 }), says: 'at evicted' },
  { line: JSON.stringify({ ...kept, summarized: undefined }), says: 'at summarized' },
  { line: 'Error: Redis is away', says: 'expected object' },
];

const check = (line: string): string =>
  `printf '%s\\n' progress '${line}' | node scripts/check-demo.ts --summarized 2 --evicted 2`;

test('check-demo accepts the summary of a good demo run', async () => {
  using fixture = buildFixture();
  const { code, output } = await fixture.run(check(JSON.stringify(kept)));
  expect(code, output).toBe(0);
});

test.each(broken)('check-demo reports what is wrong with a demo summary: $says', async ({ line, says }) => {
  using fixture = buildFixture();
  const { code, output } = await fixture.run(check(line));
  expect(code).toBe(1);
  expect(output).toContain(says);
});

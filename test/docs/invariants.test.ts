import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

const ROOT = new URL('../../', import.meta.url);
const page = readFileSync(new URL('docs/invariants.md', ROOT), 'utf8');
const rows = page.split('\n').filter((line) => /^\| I\d+ \|/.test(line));
const numbers = rows.map((row) => /I\d+/.exec(row)?.[0] ?? '');

describe('docs/invariants.md', () => {
  test('docs/invariants.md numbers the invariants without a gap', () => {
    expect(numbers).toEqual(numbers.map((_, at) => `I${at + 1}`));
  });

  test.each(rows)('docs/invariants.md names existing files in the row %s', (row) => {
    const names = [...row.matchAll(/`((?:src|test)\/[\w/.-]+\.ts|(?:shared\/)?[\w-]+\.lua)`/g)].map(
      ([, name = '']) => name,
    );
    expect(names.length).toBeGreaterThan(1);
    const missing = names.filter(
      (name) => !existsSync(new URL(name.endsWith('.lua') ? `src/store/lua/${name}` : name, ROOT)),
    );
    expect(missing).toEqual([]);
  });

  test('docs/invariants.md defines every invariant that a comment of src cites', () => {
    const files = readdirSync(new URL('src', ROOT), { recursive: true, encoding: 'utf8' });
    const cited = files
      .filter((name) => /\.(?:ts|lua)$/.test(name))
      .flatMap((name) => [
        ...readFileSync(new URL(`src/${name}`, ROOT), 'utf8').matchAll(/\((I\d+)\)|\bkeeps? (I\d+)\b/g),
      ])
      .map(([, inside, kept]) => inside ?? kept);
    expect(cited.length).toBeGreaterThan(0);
    for (const number of cited) expect(page).toMatch(new RegExp(`\\b${number}\\b`));
  });
});

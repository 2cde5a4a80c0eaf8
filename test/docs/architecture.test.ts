import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const ROOT = new URL('../../', import.meta.url);
const page = readFileSync(new URL('docs/contributing/architecture.md', ROOT), 'utf8');

/** Names of files in a line. A name without a folder lies beside the name before it. */
function listFiles(line: string): string[] {
  let folder = '';
  return [...line.matchAll(/`((?:[\w-]+\/)*)([\w-]+\.(?:ts|lua))`/g)].map(([, path = '', name = '']) => {
    if (path !== '') folder = path;
    return path.startsWith('lua/') ? `src/store/${path}${name}` : `src/${folder}${name}`;
  });
}

test.each(['One turn', 'One compaction'])(
  'the walk through the code "%s" on the architecture page has at most twelve stops',
  (heading) => {
    const section = page.split(`## ${heading}`)[1]?.split('\n## ')[0] ?? '';
    const stops = section.split('\n').filter((line) => /^\d+\. /.test(line));
    expect(stops.length).toBeGreaterThan(5);
    expect(stops.length).toBeLessThanOrEqual(12);
  },
);

test('every file that the architecture page names exists', () => {
  const lines = page.split('\n').filter((line) => /^(?:\d+\. |\| )/.test(line));
  const files = lines.flatMap(listFiles).filter((file) => !file.startsWith('src/scripts/'));
  expect(files.length).toBeGreaterThan(30);
  expect(files.filter((file) => !existsSync(new URL(file, ROOT)))).toEqual([]);
});

test('each function that the architecture page names is in the file that the page names before the function', () => {
  const lines = page.split('\n').filter((line) => /^(?:\d+\. |\| )/.test(line));
  const named = lines.flatMap((line) => [...line.matchAll(/`((?:[\w-]+\/)+[\w-]+\.ts)` `(\w+)`/g)]);
  const missing = named.filter(
    ([, file, name = '']) => !readFileSync(new URL(`src/${file}`, ROOT), 'utf8').includes(name),
  );
  expect(named.length).toBeGreaterThan(8);
  expect(missing.map(([text]) => text)).toEqual([]);
});

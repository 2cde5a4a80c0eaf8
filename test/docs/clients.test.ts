import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CLIENTS, ROOT, tabulateClients } from './clients-table.ts';

const PAGE = join(ROOT, 'docs/reference/clients.md');
const MARKED = /(?<=<!-- clients -->\n\n)[^]*?(?=\n\n<!-- \/clients -->)/;

/** To write the table: `WRITE_CLIENTS=1 npx vitest run --project unit test/docs/clients.test.ts`. */
test('the table of clients names the installed versions of their packages', () => {
  const page = readFileSync(PAGE, 'utf8');
  if (process.env['WRITE_CLIENTS'] === '1') writeFileSync(PAGE, page.replace(MARKED, tabulateClients()));
  expect(MARKED.exec(readFileSync(PAGE, 'utf8'))?.[0]).toBe(tabulateClients());
});

test.for(CLIENTS)('tests that the table names for $client show each thing that works', ({ works, tests }) => {
  const titles = tests.map((file) => readFileSync(join(ROOT, file), 'utf8')).join('\n');
  expect(Object.entries(works).filter(([, title]) => !titles.includes(title))).toEqual([]);
});

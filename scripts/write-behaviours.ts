/**
 * Writes the tables of provider behaviours into docs/reference/provider-behaviours.md. The test
 * test/docs/provider-behaviours.test.ts fails if the page and the tests differ.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { tabulateBehaviours } from './behaviours-table.ts';

const file = new URL('../docs/reference/provider-behaviours.md', import.meta.url);
const [before = '', , after = ''] = readFileSync(file, 'utf8').split(/(<!-- behaviours: [^]*?<!-- \/behaviours -->)/);
const head = '<!-- behaviours: written by `npx node scripts/write-behaviours.ts` -->';
writeFileSync(file, `${before}${head}\n\n${tabulateBehaviours()}\n\n<!-- /behaviours -->${after}`);

/**
 * Writes the tables of models into docs/reference/models.md. test/docs/models.test.ts fails if the page and the catalogue
 * differ.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { tabulateModels } from './models-table.ts';

const file = new URL('../docs/reference/models.md', import.meta.url);
const [before = '', , after = ''] = readFileSync(file, 'utf8').split(/(<!-- models: [^]*?<!-- \/models -->)/);
const head = '<!-- models: written by `npx node scripts/write-models.ts` -->';
writeFileSync(file, `${before}${head}\n\n${tabulateModels()}\n\n<!-- /models -->${after}`);

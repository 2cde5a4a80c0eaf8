/**
 * Writes the table of settings into docs/reference/configuration.md. test/config/configuration.test.ts fails if the
 * page and the code differ.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { tabulateSettings } from '../src/host/config/describe-settings.ts';

const file = new URL('../docs/reference/configuration.md', import.meta.url);
const text = readFileSync(file, 'utf8');
const [before, after] = [/^[\s\S]*<!-- settings:.*-->\n/, /<!-- \/settings -->[\s\S]*$/].map(
  (part) => part.exec(text)?.[0],
);
if (before === undefined || after === undefined) throw new Error('docs/reference/configuration.md has lost its marks');
writeFileSync(file, `${before}\n${tabulateSettings()}\n\n${after}`);

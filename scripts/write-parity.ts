/** Writes docs/reference/parity.md. test/docs/parity.test.ts fails if the page and the code differ. */
import { writeFileSync } from 'node:fs';
import { writeParity } from './parity-table.ts';

writeFileSync(new URL('../docs/reference/parity.md', import.meta.url), writeParity());

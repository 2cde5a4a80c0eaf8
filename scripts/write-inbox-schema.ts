/**
 * Writes the JSON Schema of an inbox job to docs/reference/inbox-turn.schema.json. test/inbox/schema.test.ts fails if the file
 * and the code differ.
 */
import { writeFileSync } from 'node:fs';
import { describeTurnJob } from '../src/api/inbox/turn-job.ts';

const file = new URL('../docs/reference/inbox-turn.schema.json', import.meta.url);
writeFileSync(file, `${JSON.stringify(describeTurnJob(), undefined, 2)}\n`);

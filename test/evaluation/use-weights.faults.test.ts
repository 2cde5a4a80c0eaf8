import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { FITTED_GROUPS } from '../../scripts/use-weights/samples.ts';
import { hasTraces, readConversationFiles } from '../wire/traces.ts';

const table = readFileSync(new URL('../../src/compaction/evidence/use-weights.ts', import.meta.url), 'utf8');
const fitted = Number(/Recordings: (\d+) conversations/.exec(table)?.[1]);
const found = readConversationFiles()
  .filter(({ name }) => FITTED_GROUPS.includes(name))
  .flatMap(({ conversations }) => conversations).length;

test.skipIf(!hasTraces || found !== fitted)(
  'the feature weights in the code equal those of a new fit (skipped without the recordings of the fit in ../shared/traces)',
  async () => {
    const check = promisify(execFile)(process.execPath, ['scripts/fit-use-weights.ts', '--check']);
    await expect(check).resolves.toMatchObject({ stdout: expect.stringContaining('that of the recordings') });
  },
);

import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { createTalker, openFixture } from '../client/fixture.ts';

const GUIDE = new URL('../../docs/how-to/enqueue-from-other-languages.md', import.meta.url);

/** Finds a Python with the package redis. */
function findPython(): string | undefined {
  const pythons = ['python3', '/usr/bin/python3'];
  return pythons.find((python) => spawnSync(python, ['-c', 'import redis']).status === 0);
}

test('the Python program of the guide adds a turn to the inbox, once for each job id', { timeout: 120_000 }, async ({
  skip,
}) => {
  const python = findPython();
  if (python === undefined) skip('needs python3 with the package redis: apt-get install python3-redis');
  const [, program] = /```python\n(# add_turn\.py\n[^]*?)```/.exec(await readFile(GUIDE, 'utf8')) ?? [];
  const folder = await mkdtemp(join(tmpdir(), 'turnfold-python-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'add_turn.py'), program ?? '');

  const fixture = await openFixture();
  onTestFinished(() => fixture.close());
  await fixture.startWorkers([{ ...createTalker(), name: 'support' }], { inbox: true });
  const run = async (job: string, text: string): Promise<{ turn: string }> => {
    const { stdout } = await promisify(execFile)(python ?? '', ['add_turn.py', fixture.url, job, text], {
      cwd: folder,
    });
    return JSON.parse(stdout) as { turn: string };
  };
  const text = 'Wo ist „4711“? 🙂';
  const accepted = { tenant: '_', conversation: 'c-17', turn: 'inbox-order-4711', state: 'queued', isNew: true };
  expect(await run('order-4711', text)).toEqual(accepted);
  expect(await run('order-4711', text), 'repeated').toEqual(accepted);
  expect(await fixture.client.result('c-17', accepted.turn, { waitMs: 60_000 })).toMatchObject({
    state: 'completed',
    answer: { content: `heard ${text}` },
  });
  await expect(run('order-4712', '')).rejects.toThrow(/"code": ?"invalid_input".*"field": ?"input"/);
  expect(await fixture.client.log('c-17')).toHaveLength(2);
});

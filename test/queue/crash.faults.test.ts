import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { conversation, type Fixture, turnRole, useFixture } from './fixture.ts';

/** Waits until a worker process has taken a wake, and kills that process. */
async function takeAndDie(fixture: Fixture): Promise<void> {
  const script = fileURLToPath(new URL('./hold-turn.ts', import.meta.url));
  const worker = spawn(process.execPath, [script, fixture.url, fixture.prefix], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void worker.kill('SIGKILL'));
  await once(createInterface(worker.stdout), 'line');
  worker.kill('SIGKILL');
  await once(worker, 'exit');
}

test('the queue delivers a wake job again after its worker was killed, even after several kills', async () => {
  const fixture = useFixture();
  await fixture.openWakes().wake('turn', conversation('c1'), 'w1');
  // Two crashes, because BullMQ's own limit is one: the job would fail for good at the second crash.
  await takeAndDie(fixture);
  await takeAndDie(fixture);
  const seen: string[] = [];
  await fixture.openWorkers(turnRole(({ id }) => seen.push(id))).start();

  await expect.poll(() => seen, { timeout: 30_000, interval: 50 }).toEqual(['c1']);
  expect(fixture.reclaims).toEqual(['turn']); // Only the second reclaim: the first one was reported to the process that died in the second crash.
  expect(fixture.errors).toEqual([]);
});

import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { endOf, startTurnfold } from './run-turnfold.ts';

test('a command without Redis reports that it waits, then why it gives up, and its process ends at once', async () => {
  // A connection that ioredis retries would keep the process alive for two more seconds, each time.
  let endMs = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < 3 && endMs >= 1_000; tries += 1) {
    const command = startTurnfold(['show', 'c1'], { REDIS_URL: 'redis://127.0.0.1:1' });
    const end = endOf(command);
    const lines = command.stderr === null ? undefined : createInterface({ input: command.stderr });
    if (lines !== undefined) for (let line = 1; line <= 2; line += 1) await once(lines, 'line');
    const saidAt = performance.now();
    const run = await end;
    endMs = performance.now() - saidAt;
    expect(run).toMatchObject({ code: 1, stdout: '' });
    expect(run.stderr).toMatch(
      /^the Redis at redis:.*:1 does not answer, retrying for up to 5 s\nturnfold: redis_unavailable: .*ECONNREFUSED/,
    );
  }
  expect(endMs).toBeLessThan(1_000);
});

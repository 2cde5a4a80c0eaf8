import { expect, onTestFinished, test, vi } from 'vitest';
import { TurnfoldError } from '../../src/domain/errors.ts';
import { EventLoopMonitor } from '../../src/host/health/event-loop-monitor.ts';
import { findOk, findWarning, worstState } from '../../src/host/health/finding.ts';
import { type Check, createReadiness } from '../../src/host/health/readiness.ts';
import { createHealthPages } from '../../src/host/health/worker-pages.ts';

function checkOf(name: string, run: Check['run']): Check {
  return { name, run, remedy: `mend ${name}` };
}

test('/ready lists all checks in order, and hides the messages of errors that turnfold did not create', async () => {
  const ready = createReadiness(
    [
      checkOf('well', () => findOk('well', 'fine')),
      checkOf('coded', () =>
        Promise.reject(new TurnfoldError('redis_unavailable', 'Redis does not answer: ECONNREFUSED')),
      ),
      checkOf('foreign', () => {
        throw new Error('connect redis://:s3cret@host');
      }),
      checkOf('silent', () => new Promise(() => undefined)),
    ],
    20,
  );
  const findings = await ready();
  expect(findings).toEqual([
    { name: 'well', state: 'ok', what: 'fine' },
    {
      name: 'coded',
      state: 'wrong',
      what: 'redis_unavailable: Redis does not answer: ECONNREFUSED',
      remedy: 'mend coded',
    },
    { name: 'foreign', state: 'wrong', what: 'the check failed', remedy: 'mend foreign' },
    { name: 'silent', state: 'wrong', what: 'the check did not finish in time', remedy: 'mend silent' },
  ]);
  expect(worstState(findings)).toBe('wrong');
});

test('a request of /ready does not start a readiness check a second time while the check hangs', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const run = vi.fn<() => Promise<ReturnType<typeof findOk>>>(async () => {
    await promise;
    return findOk('slow', 'back');
  });
  const ready = createReadiness([checkOf('slow', run)], 20);
  for (let asked = 0; asked < 5; asked += 1) expect((await ready())[0]).toMatchObject({ state: 'wrong' });
  expect(run).toHaveBeenCalledTimes(1);
  resolve();
  await promise;
  await expect.poll(async () => (await ready())[0]).toMatchObject({ state: 'ok', what: 'back' });
});

test('a worker with a warning is still ready', async () => {
  const pages = createHealthPages(async () => [findWarning('memory', 'nearly full', 'free some')]);
  expect(await pages['/ready']?.()).toMatchObject({ status: 200, body: expect.stringContaining('nearly full') });
});

test('the event-loop monitor reports a block after the block has ended', async () => {
  const loop = new EventLoopMonitor();
  onTestFinished(() => loop.stop());
  const until = performance.now() + 700;
  while (performance.now() < until);
  await expect.poll(() => loop.worstMs).toBeGreaterThan(300);
});

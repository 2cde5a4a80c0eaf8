import { expect, onTestFinished, test, vi } from 'vitest';
import { TurnfoldError } from '../../src/domain/errors.ts';
import { EventLoopMonitor } from '../../src/health/event-loop-monitor.ts';
import { findOk, findWarning, worstState } from '../../src/health/finding.ts';
import { type Check, createReadiness } from '../../src/health/readiness.ts';
import { createHealthPages } from '../../src/health/worker-pages.ts';

function checkOf(name: string, look: Check['run']): Check {
  return { name, run: look, remedy: `mend ${name}` };
}

test('readiness reports all checks in order, also failed ones', async () => {
  const look = createReadiness(
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
  const findings = await look();
  expect(findings).toEqual([
    { name: 'well', state: 'ok', what: 'fine' },
    {
      name: 'coded',
      state: 'wrong',
      what: 'redis_unavailable: Redis does not answer: ECONNREFUSED',
      remedy: 'mend coded',
    },
    { name: 'foreign', state: 'wrong', what: 'the check failed', remedy: 'mend foreign' },
    { name: 'silent', state: 'wrong', what: 'no answer in time', remedy: 'mend silent' },
  ]);
  expect(worstState(findings)).toBe('wrong');
});

test('a hanging check is not started again by further requests', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = vi.fn<() => Promise<ReturnType<typeof findOk>>>(async () => {
    await promise;
    return findOk('slow', 'back');
  });
  const ready = createReadiness([checkOf('slow', look)], 20);
  for (let asked = 0; asked < 5; asked += 1) expect((await ready())[0]).toMatchObject({ state: 'wrong' });
  expect(look).toHaveBeenCalledTimes(1);
  resolve();
  await promise;
  await expect.poll(async () => (await ready())[0]).toMatchObject({ state: 'ok', what: 'back' });
});

test('a warning keeps the worker ready', async () => {
  const pages = createHealthPages(async () => [findWarning('memory', 'nearly full', 'free some')]);
  expect(await pages['/ready']?.()).toMatchObject({ status: 200, body: expect.stringContaining('nearly full') });
});

test('a block of the event loop is remembered after it has ended', async () => {
  const loop = new EventLoopMonitor();
  onTestFinished(() => loop.stop());
  const until = performance.now() + 700;
  while (performance.now() < until);
  await expect.poll(() => loop.worstMs).toBeGreaterThan(300);
});

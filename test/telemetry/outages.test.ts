import { expect, test, vi } from 'vitest';
import { TurnfoldError } from '../../src/domain/errors.ts';
import type { EventListener, WorkerEvent } from '../../src/domain/events.ts';
import { createLogger, logEvents } from '../../src/telemetry/logs.ts';
import { foldOutages } from '../../src/telemetry/outages.ts';

const away = (where: string): WorkerEvent => ({
  type: 'worker_failed',
  where,
  error: new TurnfoldError('redis_unavailable', 'Redis does not answer: ECONNREFUSED'),
});
const broken: WorkerEvent = { type: 'worker_failed', where: 'sweeper', error: new Error('it broke') };

function openFold(explain: (error: unknown) => Promise<unknown> = async (error) => error) {
  const lines: Record<string, unknown>[] = [];
  const logger = createLogger({
    level: 'info',
    destination: { write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>) },
  });
  const ends: PromiseWithResolvers<void>[] = [];
  const untilBack = (): Promise<void> => {
    const end = Promise.withResolvers<void>();
    ends.push(end);
    return end.promise;
  };
  const onDenied = vi.fn<() => void>();
  const notify: EventListener = foldOutages({ logger, listener: logEvents(logger), explain, untilBack, onDenied });
  const logged = (): unknown[] => lines.map(({ msg, where }) => where ?? msg);
  return { notify, logged, lines, ends, onDenied };
}

test('an outage of Redis is logged once, and its end is logged once', async () => {
  const { notify, logged, lines, ends } = openFold();
  for (const where of ['store', 'connection', 'connection']) notify(away(where));
  notify(broken);
  await vi.waitFor(() => expect(ends).toHaveLength(1), 60_000);
  expect(logged()).toStrictEqual(['sweeper', 'store']);

  ends[0]?.resolve();
  await vi.waitFor(
    () => expect(logged()).toStrictEqual(['sweeper', 'store', expect.stringMatching(/^redis is back after \d+ s$/)]),
    60_000,
  );
  expect(lines[2]).toMatchObject({ level: 'info', awayMs: expect.any(Number) as number });

  notify(away('connection'));
  await vi.waitFor(() => expect(ends).toHaveLength(2), 60_000);
  expect(logged().slice(3)).toStrictEqual(['connection']);
});

test('an outage of Redis is logged with its likely cause', async () => {
  const why = new TurnfoldError('redis_unavailable', 'Redis refuses us');
  const { notify, lines, ends } = openFold(() => Promise.resolve(why));
  for (const where of ['store', 'connection']) notify(away(where));
  await vi.waitFor(() => expect(ends).toHaveLength(1), 60_000);
  expect(lines).toMatchObject([{ where: 'store', error: { code: 'redis_unavailable', message: 'Redis refuses us' } }]);
  expect(lines).toHaveLength(1);
});

test('a failure to explain an outage is logged, and the next outage is logged again', async () => {
  const { notify, logged } = openFold(() => Promise.reject(new Error('no socket')));
  notify(away('store'));
  await vi.waitFor(() => expect(logged()).toStrictEqual(['store', 'outage']), 60_000);
  notify(away('connection'));
  await vi.waitFor(() => expect(logged()).toStrictEqual(['store', 'outage', 'connection', 'outage']), 60_000);
});

test('after an outage, a Redis that denies access is logged, and turnfold stops watching this Redis', async () => {
  const { notify, lines, ends, onDenied } = openFold();
  notify(away('store'));
  await vi.waitFor(() => expect(ends).toHaveLength(1), 60_000);
  ends[0]?.reject(new TurnfoldError('redis_denied', 'WRONGPASS'));
  await vi.waitFor(() => expect(onDenied).toHaveBeenCalledOnce(), 60_000);
  notify(away('connection'));
  const codes = lines.map(({ error }) => (error as { code: string }).code);
  expect(codes).toStrictEqual(['redis_unavailable', 'redis_denied']);
});

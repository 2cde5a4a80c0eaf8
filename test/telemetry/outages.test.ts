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
  const tell: EventListener = foldOutages({ logger, listener: logEvents(logger), explain, untilBack, onDenied });
  const said = (): unknown[] => lines.map(({ msg, where }) => where ?? msg);
  return { tell, said, lines, ends, onDenied };
}

test('an outage is logged once, and so is its end', async () => {
  const { tell, said, lines, ends } = openFold();
  for (const where of ['store', 'connection', 'connection']) tell(away(where));
  tell(broken);
  await vi.waitFor(() => expect(ends).toHaveLength(1));
  expect(said()).toStrictEqual(['sweeper', 'store']);

  ends[0]?.resolve();
  await vi.waitFor(() => expect(said()).toStrictEqual(['sweeper', 'store', 'redis is back after 0 s']));
  expect(lines[2]).toMatchObject({ level: 'info', awayMs: expect.any(Number) as number });

  tell(away('connection'));
  await vi.waitFor(() => expect(ends).toHaveLength(2));
  expect(said().slice(3)).toStrictEqual(['connection']);
});

test('an outage is logged with its likely cause', async () => {
  const why = new TurnfoldError('redis_unavailable', 'Redis refuses us');
  const { tell, lines, ends } = openFold(() => Promise.resolve(why));
  for (const where of ['store', 'connection']) tell(away(where));
  await vi.waitFor(() => expect(ends).toHaveLength(1));
  expect(lines).toMatchObject([{ where: 'store', error: { code: 'redis_unavailable', message: 'Redis refuses us' } }]);
  expect(lines).toHaveLength(1);
});

test('a failure while explaining an outage is logged, and the next outage counts as new', async () => {
  const { tell, said } = openFold(() => Promise.reject(new Error('no socket')));
  tell(away('store'));
  await vi.waitFor(() => expect(said()).toStrictEqual(['store', 'outage']));
  tell(away('connection'));
  await vi.waitFor(() => expect(said()).toStrictEqual(['store', 'outage', 'connection', 'outage']));
});

test('an outage that ends with a denial is logged with the denial, and then no more', async () => {
  const { tell, lines, ends, onDenied } = openFold();
  tell(away('store'));
  await vi.waitFor(() => expect(ends).toHaveLength(1));
  ends[0]?.reject(new TurnfoldError('redis_denied', 'WRONGPASS'));
  await vi.waitFor(() => expect(onDenied).toHaveBeenCalledOnce());
  tell(away('connection'));
  const codes = lines.map(({ error }) => (error as { code: string }).code);
  expect(codes).toStrictEqual(['redis_unavailable', 'redis_denied']);
});

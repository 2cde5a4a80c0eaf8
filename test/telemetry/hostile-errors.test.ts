import { expect, test } from 'vitest';
import { TurnfoldError } from '../../src/domain/errors.ts';
import type { EventListener, WorkerEvent } from '../../src/domain/events.ts';
import { combineListeners } from '../../src/telemetry/listeners.ts';
import { createLogger, logEvents } from '../../src/telemetry/logs.ts';
import { HOSTILE_JSON, HOSTILE_THROWN } from '../fakes/hostile-values.ts';
import { samples } from './sample-events.ts';

function logError(error: unknown, showsContent: boolean): Record<string, unknown> {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  logEvents(createLogger({ level: 'info', showsContent, destination }))({
    type: 'worker_failed',
    where: 'test',
    error,
  });
  expect(lines).toHaveLength(1);
  expect(lines[0]?.length).toBeLessThan(100_000);
  return JSON.parse(lines[0] ?? '') as Record<string, unknown>;
}

const SAID = HOSTILE_THROWN.filter(([name]) => name !== 'undefined');

test.each(SAID)('logs %s in one line of bounded size', (_, make) => {
  for (const showsContent of [false, true]) {
    expect(logError(make(), showsContent)).toMatchObject({
      level: 'error',
      error: { name: expect.any(String) as string },
    });
  }
});

test.each(HOSTILE_JSON)('logs a coded error without details that are %s', (_, make) => {
  const error = new TurnfoldError('conflict', 'no', { details: { odd: make() } });
  const { error: logged } = logError(error, false);
  expect(logged).toEqual({ code: 'conflict', message: 'no' });
});

test('reports a listener with a rejected promise to the others, and the process survives', async () => {
  const seen: WorkerEvent[] = [];
  const broken = new Error('broken');
  const heard = Promise.withResolvers<void>();
  const rejecting = (async () => Promise.reject(broken)) as () => unknown as EventListener; // as JavaScript allows it
  const tell = combineListeners(rejecting, (event) => {
    seen.push(event);
    if (event.type === 'worker_failed') heard.resolve();
  });
  tell(samples.turn_settled);
  await heard.promise;
  expect(seen).toEqual([samples.turn_settled, { type: 'worker_failed', where: 'listener', error: broken }]);
});

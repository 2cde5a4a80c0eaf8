import { expect, test } from 'vitest';
import type { EventListener, WorkerEvent } from '../../src/domain/events.ts';
import { combineListeners } from '../../src/telemetry/listeners.ts';
import { samples } from './sample-events.ts';

function collect(): { readonly seen: WorkerEvent[]; readonly listener: EventListener } {
  const seen: WorkerEvent[] = [];
  return { seen, listener: (event) => seen.push(event) };
}

const broken = new Error('broken');
const report = { type: 'worker_failed', where: 'listener', error: broken };
const fail: EventListener = () => {
  throw broken;
};

test('combineListeners passes every event to each listener in order', () => {
  const [first, second] = [collect(), collect()];
  const notify = combineListeners(first.listener, second.listener);
  notify(samples.turn_claimed);
  notify(samples.turn_settled);
  expect(first.seen).toEqual([samples.turn_claimed, samples.turn_settled]);
  expect(second.seen).toEqual(first.seen);
});

test('a listener that throws is reported to the other listeners', () => {
  const [before, behind] = [collect(), collect()];
  combineListeners(before.listener, fail, behind.listener)(samples.turn_settled);
  expect(before.seen).toEqual([samples.turn_settled, report]);
  expect(behind.seen).toEqual([samples.turn_settled, report]);
});

test('the error of a listener is dropped if no other listener can receive it', () => {
  expect(() => combineListeners(fail, fail)(samples.turn_settled)).not.toThrow();
  expect(() => combineListeners()(samples.turn_settled)).not.toThrow();
});

test('a listener whose promise rejects is reported to the other listeners', async () => {
  const rejecting = (async () => Promise.reject(broken)) as () => unknown as EventListener; // as JavaScript allows
  const other = collect();
  combineListeners(rejecting, other.listener)(samples.turn_settled);
  await expect.poll(() => other.seen).toEqual([samples.turn_settled, report]);
});

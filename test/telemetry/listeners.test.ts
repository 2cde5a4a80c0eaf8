import { expect, test } from 'vitest';
import type { EventListener, WorkerEvent } from '../../src/domain/events.ts';
import { combineListeners } from '../../src/telemetry/listeners.ts';
import { samples } from './sample-events.ts';

function collect(): { readonly seen: WorkerEvent[]; readonly listener: EventListener } {
  const seen: WorkerEvent[] = [];
  return { seen, listener: (event) => seen.push(event) };
}

const broken = new Error('broken');
const fail: EventListener = () => {
  throw broken;
};

test('every listener receives every event, in order', () => {
  const [first, second] = [collect(), collect()];
  const tell = combineListeners(first.listener, second.listener);
  tell(samples.turn_claimed);
  tell(samples.turn_settled);
  expect(first.seen).toEqual([samples.turn_claimed, samples.turn_settled]);
  expect(second.seen).toEqual(first.seen);
});

test('a listener that throws is reported to the others', () => {
  const [before, behind] = [collect(), collect()];
  combineListeners(before.listener, fail, behind.listener)(samples.turn_settled);
  const told = { type: 'worker_failed', where: 'listener', error: broken };
  expect(before.seen).toEqual([samples.turn_settled, told]);
  expect(behind.seen).toEqual([samples.turn_settled, told]);
});

test('errors are dropped if all listeners throw, or there is none', () => {
  expect(() => combineListeners(fail, fail)(samples.turn_settled)).not.toThrow();
  expect(() => combineListeners()(samples.turn_settled)).not.toThrow();
});

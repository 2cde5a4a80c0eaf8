import { expect, it } from 'vitest';
import type { WorkerEvent } from '../../src/domain/events.ts';
import { calibrationRatio } from '../../src/domain/size.ts';
import { openEmbeddedStore } from '../../src/store/open-embedded-store.ts';
import { Calibrations } from '../../src/workers/calibrations.ts';
import { ManualTimers } from './turn/manual-timers.ts';

async function open() {
  const timers = new ManualTimers();
  const events: WorkerEvent[] = [];
  const { store } = await openEmbeddedStore();
  const make = () => new Calibrations({ clock: timers, timers, onEvent: (event) => events.push(event) });
  return { timers, events, store, calibrations: make(), other: make() };
}

it.each([
  [1_100, 1_000, 1.1],
  [5_000, 1_000, 2],
  [500, 1_000, 0.5],
])(
  'if a provider counts %i tokens and turnfold counts %i for the same request, the calibration ratio is %d',
  (provider, counted, ratio) => {
    expect(calibrationRatio(provider, counted)).toBe(ratio);
  },
);

it('a request with few or no tokens gives no calibration ratio (provider count divided by turnfold’s)', () => {
  expect(calibrationRatio(500, 255)).toBeUndefined();
  expect(calibrationRatio(0, 1_000)).toBeUndefined();
  expect(calibrationRatio(499, 1_000)).toBeUndefined();
});

it('a model’s calibration factor is 1 at first, and after the model’s first answer it is the ratio of that answer', async () => {
  const { store, calibrations } = await open();
  await calibrations.start(store);
  expect(calibrations.factorOf('m')).toBe(1);
  await calibrations.observe('m', 1_200, 1_000);
  expect(calibrations.factorOf('m')).toBe(1.2);
  expect(calibrations.factorOf('other')).toBe(1);
});

it('the calibration factor of a model chain is the largest factor of its models', async () => {
  const { store, calibrations } = await open();
  await calibrations.start(store);
  expect(calibrations.factorOf('m|n')).toBe(1);
  expect(calibrations.factorOf('m|n', 1.6), 'with an initial factor').toBe(1.6);
  await calibrations.observe('m|n', 1_200, 1_000);
  expect(calibrations.factorOf('m|n'), 'while nothing is known of its models').toBe(1.2);
  await calibrations.observe('m', 800, 1_000);
  expect(calibrations.factorOf('m|n')).toBe(1);
  await calibrations.observe('n', 900, 1_000);
  expect(calibrations.factorOf('m|n')).toBe(0.9);
  expect(calibrations.factorOf('n|m')).toBe(0.9);
});

it('a new calibration factor reaches running workers within seconds and starting workers at once', async () => {
  const { store, timers, calibrations, other } = await open();
  await Promise.all([calibrations.start(store), other.start(store)]);
  await calibrations.observe('m', 1_200, 1_000);
  expect(other.factorOf('m')).toBe(1);
  await timers.advance(15_000);
  expect(other.factorOf('m')).toBe(1.2);
});

it('a worker records at most one calibration ratio per second and model', async () => {
  const { store, timers, calibrations } = await open();
  await calibrations.start(store);
  for (const provider of [1_200, 1_400, 1_600]) await calibrations.observe('m', provider, 1_000);
  await calibrations.observe('n', 900, 1_000);
  expect([...calibrations.factors]).toEqual([
    ['m', 1.2],
    ['n', 0.9],
  ]);
  await timers.advance(1_000);
  await calibrations.observe('m', 1_400, 1_000);
  expect(calibrations.factorOf('m')).toBe(1.3);
});

it('a worker that cannot read calibration factors from the store keeps the last factors and reports the failure', async () => {
  const { store, timers, events, calibrations } = await open();
  await calibrations.start(store);
  await calibrations.observe('m', 1_200, 1_000);
  store.observeCalibration = () => Promise.reject(new Error('away'));
  await timers.advance(1_000);
  await calibrations.observe('m', 1_900, 1_000);
  expect(calibrations.factorOf('m')).toBe(1.2);
  expect(events).toMatchObject([{ type: 'worker_failed', where: 'calibration' }]);
});

it('a stopped worker reads no more calibration factors from the store', async () => {
  const { store, timers, calibrations } = await open();
  await calibrations.start(store);
  calibrations.stop();
  await calibrations.observe('m', 1_200, 1_000);
  expect(await store.readCalibrations()).toEqual(new Map());
  await timers.advance(60_000);
  expect(calibrations.factorOf('m')).toBe(1);
});

it('one unusual ratio moves a calibration factor by at most a quarter, and several such ratios move it to their value', async () => {
  const { store, timers, calibrations } = await open();
  await calibrations.start(store);
  await calibrations.observe('m', 4_000, 1_000);
  expect(calibrations.factorOf('m')).toBe(1.25);
  for (let count = 0; count < 19; count += 1) {
    await timers.advance(1_000);
    await calibrations.observe('m', 1_600, 1_000);
  }
  expect(calibrations.factorOf('m')).toBeGreaterThan(1.5);
  await timers.advance(1_000);
  await calibrations.observe('m', 9_000, 1_000);
  expect(calibrations.factorOf('m')).toBeLessThan(1.65);
});

import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Given } from './fixture.ts';

export function describeCalibrationStore(given: Given): void {
  test('the calibration of a model is the mean of its first observed token ratios', async () => {
    const { store } = given.harness();
    const model = `m.${randomUUID()}`;
    expect(await store.observeCalibration(model, 1.2)).toBe(1.2);
    expect(await store.observeCalibration(model, 1.4)).toBe(1.3);
    expect(await store.observeCalibration(model, 1)).toBe(1.2);
    expect((await store.readCalibrations()).get(model)).toBe(1.2);
  });

  test('after 20 observed token ratios, each new ratio moves the calibration by a twentieth of the difference', async () => {
    const { store } = given.harness();
    const model = `m/with: signs ${randomUUID()}`;
    for (let count = 0; count < 20; count += 1) await store.observeCalibration(model, 1);
    expect(await store.observeCalibration(model, 2)).toBe(1.05);
    expect(await store.observeCalibration(model, 2)).toBe(1.0975);
  });

  test('an observed token ratio of one model does not change the calibration of another model', async () => {
    const { store } = given.harness();
    const [one, other] = [`m.${randomUUID()}`, `m.${randomUUID()}`];
    await store.observeCalibration(one, 0.5);
    await store.observeCalibration(other, 2);
    const known = await store.readCalibrations();
    expect([known.get(one), known.get(other), known.get('nobody')]).toEqual([0.5, 2, undefined]);
  });
}

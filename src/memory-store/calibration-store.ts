import type { CalibrationStore } from '../domain/ports/calibration-store.ts';

/**
 * Opens the store of calibrations (token count of the provider divided by ours, per model) in memory. The contract tests in
 * test/store run against this store and against Redis.
 */
export function openMemoryCalibrationStore(): CalibrationStore {
  const known = new Map<string, { factor: number; count: number }>();
  return {
    readCalibrations: async () => new Map([...known].map(([model, { factor }]) => [model, factor])),
    observeCalibration: async (model, ratio) => {
      const { factor: before, count: counted } = known.get(model) ?? { factor: 1, count: 0 };
      const count = counted + 1;
      const factor = Number((before + (ratio - before) * Math.max(1 / count, 0.05)).toFixed(5));
      known.set(model, { factor, count });
      return factor;
    },
  };
}

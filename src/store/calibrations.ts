import type { Redis } from 'ioredis';
import type { CalibrationStore } from '../domain/ports/calibration-store.ts';
import type { Keyspace } from './keys.ts';
import { callStore } from './records.ts';
import { type ScriptOf, scriptBinder } from './script.ts';

/**
 * Opens the store of calibrations (token count of the provider divided by ours, per model). All of them are in one small
 * Redis hash.
 */
export function openCalibrationStore(redis: Redis, keyspace: Keyspace): CalibrationStore {
  return {
    observeCalibration: scriptBinder(redis, keyspace)(observeCalibrationScript),
    readCalibrations: async () => {
      const hash = await callStore(() => redis.hgetall(keyspace.calibrations()));
      const factors = Object.entries(hash).map(([model, text]) => [model, Number(text.split(' ')[0])] as const);
      // A calibration that cannot be read is left out. The next observation starts it again from 1.
      return new Map(factors.filter(([, factor]) => factor > 0 && factor < Number.POSITIVE_INFINITY));
    },
  };
}

const observeCalibrationScript: ScriptOf<CalibrationStore['observeCalibration']> = {
  file: 'observe-calibration',
  keys: (_, keyspace) => [keyspace.calibrations()],
  args: ([model, ratio]) => [model, ratio],
  decode: Number,
};

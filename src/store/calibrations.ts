import type { Redis } from 'ioredis';
import type { CalibrationStore } from '../domain/ports/calibration-store.ts';
import type { Keyspace } from './keys.ts';
import { callStore } from './records.ts';
import { bindScript, type ScriptDefinition } from './script.ts';

interface Observation {
  readonly model: string;
  readonly ratio: number;
}

/** Calibrations of all models in one small hash. */
export function openCalibrationStore(redis: Redis, keyspace: Keyspace): CalibrationStore {
  const observe = bindScript(redis, observeCalibration(keyspace));
  return {
    observeCalibration: (model, ratio) => observe({ model, ratio }),
    readCalibrations: async () => {
      const hash = await callStore(() => redis.hgetall(keyspace.calibrations()));
      const factors = Object.entries(hash).map(([model, text]) => [model, Number(text.split(' ')[0])] as const);
      // A corrupt calibration starts again from 1 at the next observation.
      return new Map(factors.filter(([, factor]) => factor > 0 && factor < Number.POSITIVE_INFINITY));
    },
  };
}

function observeCalibration(keyspace: Keyspace): ScriptDefinition<Observation, number> {
  return {
    file: 'observe-calibration',
    keys: () => [keyspace.calibrations()],
    args: ({ model, ratio }) => [model, ratio],
    decode: (reply) => Number(reply),
  };
}

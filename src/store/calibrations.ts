import type { Redis } from 'ioredis';
import type { Keyspace } from './keys.ts';
import { callStore } from './records.ts';
import { type ScriptDefinition, scriptBinder } from './script.ts';

/** For each model, the provider's token count divided by ours. One small hash holds these factors. */
export function openCalibrationStore(redis: Redis, keyspace: Keyspace) {
  return {
    observeCalibration: scriptBinder(redis, keyspace)(observeCalibrationScript),
    readCalibrations: async (): Promise<ReadonlyMap<string, number>> => {
      const hash = await callStore(() => redis.hgetall(keyspace.calibrations()));
      const factors = Object.entries(hash).map(([model, text]) => [model, Number(text.split(' ')[0])] as const);
      // An unreadable factor is left out. The next observation starts this factor again from 1.
      return new Map(factors.filter(([, factor]) => factor > 0 && factor < Number.POSITIVE_INFINITY));
    },
  };
}

export type CalibrationStore = ReturnType<typeof openCalibrationStore>;

const observeCalibrationScript: ScriptDefinition<[model: string, ratio: number], number> = {
  file: 'observe-calibration',
  keys: (_, keyspace) => ({ calibrations: keyspace.calibrations() }),
  args: ([model, ratio]) => ({ model, ratio }),
  decode: Number,
};

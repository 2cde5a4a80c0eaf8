import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** True for `npm run test:faults`. */
    isThorough: boolean;
  }
}

/** Share of the thorough runs, between 0 and 1. `.ci/run` has less time than a person. */
const SHARE = Number(process.env['SEARCH_SHARE'] ?? 1);

/** Number of runs of a property: `thorough` with `npm run test:faults`, a twentieth of that with `npm test`. */
export function countRuns(thorough: number): number {
  return Math.ceil(thorough * (inject('isThorough') ? SHARE : 0.05));
}

/** Every value, or with `SEARCH_SHARE` an even part of them, from the first one on. */
export function takeShare<Value>(values: readonly Value[]): Value[] {
  return takeEvenly(values, SHARE);
}

/** With `npm run test:faults` as `takeShare`, with `npm test` at most `most` values, from the first one on. */
export function takeSample<Value>(values: readonly Value[], most: number): Value[] {
  return inject('isThorough') ? takeShare(values) : takeEvenly(values, Math.min(1, most / values.length));
}

function takeEvenly<Value>(values: readonly Value[], share: number): Value[] {
  return values.filter((_, at) => Math.ceil(at * share) < Math.ceil((at + 1) * share));
}

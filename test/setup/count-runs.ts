import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** True for `npm run test:faults`. */
    isThorough: boolean;
  }
}

/** Number of runs of a property: `thorough` with `npm run test:faults`, a tenth of that with `npm test`. */
export function countRuns(thorough: number): number {
  return inject('isThorough') ? thorough : Math.ceil(thorough / 10);
}

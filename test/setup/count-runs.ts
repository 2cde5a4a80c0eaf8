import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** whether this run is `npm run test:faults` */
    isThorough: boolean;
  }
}

/** How often a property is tried: `npm run test:faults` tries it `thorough` times, `npm test` a tenth of that. */
export function countRuns(thorough: number): number {
  return inject('isThorough') ? thorough : Math.ceil(thorough / 10);
}

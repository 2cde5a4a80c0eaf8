import { readSafely } from './thrown.ts';

/**
 * Marks a class of errors by a brand, because `instanceof` fails across two copies of this package. A worker's command
 * and the agents that it imports may each load a copy. A name alone could belong to an unrelated error.
 * @param brand result of `Symbol.for`, which all copies share
 */
export function brandErrors(type: { readonly prototype: Error }, brand: symbol): void {
  // Set on the prototype, so that the brand does not appear in printed or compared errors.
  Object.defineProperty(type.prototype, brand, { value: true });
}

/** Reads the brand. Never throws, not even on a proxy. */
export function hasBrand(error: unknown, brand: symbol): boolean {
  return readSafely(error, brand) === true;
}

import { readSafely } from './thrown.ts';

/**
 * Errors are told by a brand, not by their class: of a class there are two where a process has two copies of this package, a
 * worker's command and the one that its agents import. By name alone an error of anybody's could pass for one of ours.
 * @param brand of `Symbol.for`, which all copies share
 */
export function brandErrors(type: { readonly prototype: Error }, brand: symbol): void {
  // On the prototype: nothing of it shows where an error is printed or compared.
  Object.defineProperty(type.prototype, brand, { value: true });
}

/** Never throws, whatever a proxy does when it is asked. */
export function hasBrand(error: unknown, brand: symbol): boolean {
  return readSafely(error, brand) === true;
}

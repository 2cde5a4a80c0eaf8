import { BrokenDelivery } from '../../src/workers/turn/turn-delivery.ts';

/** Thrown inside a worker that has died. From then on, its requests have no effect. */
class Crash extends Error {}

/** `after`: the operation had its effect, but its reply is lost. */
export type When = 'before' | 'after';

/** Lets one worker die at its n-th await. */
export class WorkerDeath {
  readonly #at: number;
  readonly #when: When;
  #awaits = 0;
  #isDead = false;

  /** @param at number of the await at which the worker dies, from 1. With 0, the worker does not die. */
  constructor(at = 0, when: When = 'before') {
    this.#at = at;
    this.#when = when;
  }

  get hasHappened(): boolean {
    return this.#isDead;
  }

  /** Dies now, inside an operation that a test replaced. */
  happen(): never {
    this.#isDead = true;
    throw new Crash();
  }

  async pass<T>(operation: () => Promise<T>): Promise<T> {
    if (this.#isDead) throw new Crash();
    this.#awaits += 1;
    this.#isDead = this.#awaits === this.#at;
    if (this.#isDead && this.#when === 'before') throw new Crash();
    const result = await operation();
    if (this.#isDead) throw new Crash();
    return result;
  }
}

/** Wraps all operations of a port, so that the current worker can die before or after each of them. */
export function bindPort<Port extends object>(port: Port, death: () => WorkerDeath): Port {
  return new Proxy(port, {
    get(target, name) {
      const found: unknown = Reflect.get(target, name);
      if (typeof found !== 'function') return found;
      return (...args: unknown[]) => death().pass(async () => Reflect.apply(found, target, args) as unknown);
    },
  });
}

/** True if an error is the death of a worker. */
export function isCrash(error: unknown): boolean {
  return (error instanceof BrokenDelivery ? error.cause : error) instanceof Crash;
}

/** For a `catch`: ignores the death of a worker, and throws every other error. */
export function ignoreCrash(error: unknown): void {
  if (!isCrash(error)) throw error;
}

/** A hold on the lock. It ends once; ending it again does nothing. */
export interface SoloHold {
  release(): void;
  /** From alone to beside others, without a gap in between. Of a hold beside others it changes nothing. */
  admitOthers(): void;
}

type Grant = () => void;

/**
 * A readers-writer lock for the work of one process. Turns, passes and summaries hold it together. A turn that two processes
 * died of holds it alone, so that its third death harms nobody else.
 *
 * Neither side starves. Work that comes while a turn waits to run alone waits behind it. When that turn ends, all work that
 * waits goes before the next turn that wants to run alone.
 */
export class SoloLock {
  #sharing = 0;
  #isAlone = false;
  readonly #solos = new Set<Grant>();
  readonly #others = new Set<Grant>();

  /** A turn waits until it may run alone: work that holds the lock ends at its next step. */
  get isWanted(): boolean {
    return !this.#isAlone && this.#solos.size > 0;
  }

  /** Resolves when this work may run beside other work. Undefined: `signal` aborted before. */
  share(signal: AbortSignal): Promise<SoloHold | undefined> {
    return this.#enter(false, signal);
  }

  /** Resolves when nothing else holds the lock. Undefined: `signal` aborted before. */
  alone(signal: AbortSignal): Promise<SoloHold | undefined> {
    return this.#enter(true, signal);
  }

  async #enter(isSolo: boolean, signal: AbortSignal): Promise<SoloHold | undefined> {
    if (signal.aborted) return undefined;
    const { promise, resolve } = Promise.withResolvers<SoloHold | undefined>();
    const line = isSolo ? this.#solos : this.#others;
    const grant: Grant = () => resolve(this.#hold(isSolo));
    const leave = (): void => {
      if (!line.delete(grant)) return;
      resolve(undefined);
      this.#grantNext();
    };
    line.add(grant);
    signal.addEventListener('abort', leave, { once: true });
    this.#grantNext();
    try {
      return await promise;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  #grantNext(): void {
    if (this.#isAlone) return;
    if (this.#solos.size === 0) this.#grantOthers();
    const [solo] = this.#solos;
    if (solo === undefined || this.#sharing > 0) return;
    this.#solos.delete(solo);
    this.#isAlone = true;
    solo();
  }

  #grantOthers(): void {
    for (const grant of this.#others) {
      this.#others.delete(grant);
      this.#sharing += 1;
      grant();
    }
  }

  #hold(isSolo: boolean): SoloHold {
    let isAlone = isSolo;
    let isReleased = false;
    const leave = (): void => {
      if (!isAlone) {
        this.#sharing -= 1;
        return;
      }
      this.#isAlone = false;
      this.#grantOthers();
    };
    return {
      release: () => {
        if (isReleased) return;
        isReleased = true;
        leave();
        this.#grantNext();
      },
      admitOthers: () => {
        if (isReleased || !isAlone) return;
        this.#sharing += 1;
        leave();
        isAlone = false;
      },
    };
  }
}

import type { Played } from './play.ts';

/** Counts how often compaction passes ended in each way. */
export class Tally {
  readonly #counts = new Map<string, number>();

  add(played: Played | undefined): void {
    if (played === undefined) return this.#count('refused at load');
    for (const outcome of played.outcomes) {
      this.#count(outcome.kind);
      if (outcome.kind !== 'version') continue;
      const { strategy, steps, explained, isFloorRelaxed } = outcome.settled;
      const taken = new Set(steps.map(({ step }) => `step ${step}`));
      for (const end of [`by ${strategy}`, ...taken, ...explained]) this.#count(end);
      if (isFloorRelaxed) this.#count('floor relaxed');
    }
  }

  countOf(end: string): number {
    return this.#counts.get(end) ?? 0;
  }

  /** The counts, most frequent outcome first. */
  get counts(): readonly (readonly [string, number])[] {
    return [...this.#counts].toSorted(([, a], [, b]) => b - a);
  }

  #count(end: string): void {
    this.#counts.set(end, this.countOf(end) + 1);
  }
}

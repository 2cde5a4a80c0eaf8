import type { Redis } from 'ioredis';
import { callStore } from './records.ts';

/** Least ms between two rounds, which ask Redis about keys. After a longer pause, the next round starts at once. */
const ROUND_MS = 20;

interface Question {
  readonly key: string;
  readonly resolve: (exists: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Finds out which keys exist, for keys of which nearly none exists. A round is one EXISTS for many keys, which returns
 * the number of existing keys. If that number is not 0, each half of the round is asked again, and so on.
 */
export class ExistingKeys {
  readonly #redis: Redis;
  readonly #smallest: number;
  #waiting: Question[] = [];
  #isPaused = false;

  /** @param smallest a group of this size is not split: if one of its keys exists, all count as existing */
  constructor(redis: Redis, smallest = 1) {
    this.#redis = redis;
    this.#smallest = smallest;
  }

  ask(key: string): Promise<boolean> {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    this.#waiting.push({ key, resolve, reject });
    if (!this.#isPaused) {
      this.#isPaused = true;
      // Questions that come at the same moment share one round.
      queueMicrotask(this.#startRound);
    }
    return promise;
  }

  readonly #startRound = (): void => {
    const asked = this.#waiting;
    this.#isPaused = asked.length > 0;
    if (!this.#isPaused) return;
    this.#waiting = [];
    setTimeout(this.#startRound, ROUND_MS).unref();
    // In a Cluster, the keys of a command must be in one slot. The text in braces decides the slot.
    const groups = this.#redis.isCluster
      ? [...Map.groupBy(asked, ({ key }) => key.slice(0, key.indexOf('}'))).values()]
      : [asked];
    for (const group of groups) void this.#askGroup(group);
  };

  async #askGroup(questions: readonly Question[]): Promise<void> {
    try {
      const found = await callStore(() => this.#redis.exists(questions.map(({ key }) => key)));
      const isAnswered = found === 0 || found === questions.length || questions.length <= this.#smallest;
      if (isAnswered) for (const { resolve } of questions) resolve(found > 0);
      else {
        const half = questions.length >> 1;
        await Promise.all([questions.slice(0, half), questions.slice(half)].map((part) => this.#askGroup(part)));
      }
    } catch (error) {
      for (const { reject } of questions) reject(error);
    }
  }
}

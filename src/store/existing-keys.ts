import type { Redis } from 'ioredis';
import { callStore } from './records.ts';

/** ms between two rounds of questions. If no round was sent in this time, the next one is sent at once. */
const ROUND_MS = 20;

interface Question {
  readonly key: string;
  readonly resolve: (exists: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Asks Redis which keys exist, where nearly every answer is no. The questions of a round are one command, which returns the
 * number of keys that exist. If some do, the halves of the round are asked, and so on.
 */
export class ExistingKeys {
  readonly #redis: Redis;
  readonly #smallest: number;
  #waiting: Question[] = [];
  #isPaused = false;

  /**
   * @param smallest groups of at most this size are not split. If such a group has an existing key, the answer is yes for
   * every key of the group. With 1, all answers are exact.
   */
  constructor(redis: Redis, smallest = 1) {
    this.#redis = redis;
    this.#smallest = smallest;
  }

  ask(key: string): Promise<boolean> {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    this.#waiting.push({ key, resolve, reject });
    if (!this.#isPaused) {
      this.#isPaused = true;
      // Questions that are asked at the same time come into one round.
      queueMicrotask(() => this.#startRound());
    }
    return promise;
  }

  #startRound(): void {
    const asked = this.#waiting;
    this.#isPaused = asked.length > 0;
    if (!this.#isPaused) return;
    this.#waiting = [];
    setTimeout(() => this.#startRound(), ROUND_MS).unref();
    // In a Cluster, all keys of one command must be in the same slot. The text in braces decides the slot.
    const groups = this.#redis.isCluster
      ? [...Map.groupBy(asked, ({ key }) => key.slice(0, key.indexOf('}'))).values()]
      : [asked];
    for (const group of groups) void this.#askGroup(group);
  }

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

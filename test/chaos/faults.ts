import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Random } from '../setup/random.ts';
import type { Crew } from './crew.ts';
import type { FaultyProxy } from './faulty-proxy.ts';
import type { MortalRedis } from './mortal-redis.ts';

export interface World {
  readonly crew: Crew;
  readonly redis: MortalRedis;
  readonly proxy: FaultyProxy;
  /** not through the proxy */
  readonly direct: Redis;
}

export interface HarmOptions {
  readonly kinds?: readonly (keyof FaultCounts)[] | undefined;
  readonly pace: number;
}

/** How often each is done, and how many of the others lie between two. */
export interface FaultCounts {
  workerKills: number;
  freezes: number;
  redisKills: number;
  connectionKills: number;
  lostReplies: number;
  cuts: number;
}

/** ms */
const BETWEEN_FAULTS = { least: 150, most: 700 };
/** some longer than a lease */
const FREEZE = { least: 1_000, most: 11_000 };
const REDIS_AWAY = { least: 50, most: 1_500 };
const SWALLOW = { least: 20, most: 300 };

/** Weights: a worker dies ten times as often as Redis. */
const DECK: readonly (keyof FaultCounts)[] = [
  ...Array.from({ length: 20 }, () => 'workerKills' as const),
  ...Array.from({ length: 2 }, () => 'freezes' as const),
  ...Array.from({ length: 2 }, () => 'redisKills' as const),
  ...Array.from({ length: 3 }, () => 'connectionKills' as const),
  ...Array.from({ length: 4 }, () => 'lostReplies' as const),
  ...Array.from({ length: 4 }, () => 'cuts' as const),
];

/** Does harm at random until it is told to stop; then everything that was frozen or killed is there again. */
export class Faults {
  readonly counts: FaultCounts = {
    workerKills: 0,
    freezes: 0,
    redisKills: 0,
    connectionKills: 0,
    lostReplies: 0,
    cuts: 0,
  };
  readonly #world: World;
  readonly #random: Random;
  readonly #deck: readonly (keyof FaultCounts)[];
  readonly #pace: number;
  readonly #busy = new Set<number>();
  readonly #underWay = new Set<Promise<void>>();
  #isOver = false;

  /** @param options `kinds`: what harm is done, all kinds where absent; `pace`: times the usual pause between two */
  constructor(world: World, random: Random, { kinds, pace }: HarmOptions) {
    this.#world = world;
    this.#random = random;
    this.#deck = kinds === undefined ? DECK : DECK.filter((kind) => kinds.includes(kind));
    this.#pace = pace;
  }

  async run(): Promise<void> {
    while (!this.#isOver && this.#deck.length > 0) {
      await sleep(this.#pace * this.#random.between(BETWEEN_FAULTS.least, BETWEEN_FAULTS.most));
      if (this.#isOver) break;
      const fault = this.#random.pick(this.#deck);
      const done = this.#do(fault).finally(() => this.#underWay.delete(done));
      this.#underWay.add(done);
      // What fails is heard at the end, or below.
      done.catch(() => undefined);
      // Of Redis there is one: what else is done meanwhile would not be felt.
      if (fault === 'redisKills') await done;
    }
    await Promise.all(this.#underWay);
  }

  stop(): void {
    this.#isOver = true;
  }

  async #do(fault: keyof FaultCounts): Promise<void> {
    const { crew, redis, proxy, direct } = this.#world;
    switch (fault) {
      case 'workerKills':
        return await this.#withWorker(fault, (worker) => crew.kill(worker));
      case 'freezes': {
        const forMs = this.#random.between(FREEZE.least, FREEZE.most);
        return await this.#withWorker(fault, (worker) => crew.freeze(worker, forMs));
      }
      case 'redisKills':
        this.counts.redisKills += 1;
        await redis.kill();
        await sleep(this.#random.between(REDIS_AWAY.least, REDIS_AWAY.most));
        return await redis.start();
      case 'connectionKills':
        this.counts.connectionKills += 1;
        for (const type of ['normal', 'pubsub'])
          await direct.call('CLIENT', 'KILL', 'TYPE', type).catch(() => undefined);
        return;
      case 'lostReplies':
        this.counts.lostReplies += 1;
        proxy.swallow();
        await sleep(this.#random.between(SWALLOW.least, SWALLOW.most));
        return proxy.cut();
      case 'cuts':
        this.counts.cuts += 1;
        return proxy.cut();
    }
  }

  /** One fault at a time for each process; at least one is left alone. */
  async #withWorker(fault: 'workerKills' | 'freezes', harm: (worker: number) => Promise<void>): Promise<void> {
    const idle = Array.from({ length: this.#world.crew.size }, (_, index) => index).filter((at) => !this.#busy.has(at));
    if (idle.length < 2) return;
    const worker = this.#random.pick(idle);
    this.#busy.add(worker);
    this.counts[fault] += 1;
    await harm(worker).finally(() => this.#busy.delete(worker));
  }
}

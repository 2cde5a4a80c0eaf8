import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Random } from '../setup/random.ts';
import type { FaultyProxy } from './faulty-proxy.ts';
import type { MortalRedis } from './mortal-redis.ts';
import type { WorkerPool } from './worker-pool.ts';

export interface Targets {
  readonly pool: WorkerPool;
  readonly redis: MortalRedis;
  readonly proxy: FaultyProxy;
  /** A connection that bypasses the proxy. */
  readonly direct: Redis;
  /** Called after each fault except kills of workers, with its times in ms since epoch. */
  readonly onFault: (from: number, to: number) => void;
}

/** Weights of the faults: a worker dies ten times as often as Redis. */
const WEIGHTS = { workerKills: 20, freezes: 2, redisKills: 2, connectionKills: 3, lostReplies: 4, cuts: 4 };
type Fault = keyof typeof WEIGHTS;
export type FaultCounts = Readonly<Record<Fault, number>>;
const DECK = Object.entries(WEIGHTS).flatMap(([fault, weight]) => Array.from({ length: weight }, () => fault as Fault));

/** All in ms. */
const BETWEEN_FAULTS = { least: 150, most: 700 };
/** The longest freezes outlast a lease. */
const FREEZE = { least: 1_000, most: 11_000 };
const REDIS_AWAY = { least: 50, most: 1_500 };
const SWALLOW = { least: 20, most: 300 };

/** Injects random faults until `stop`. Then every frozen or killed process runs again. */
export class FaultInjector {
  readonly counts: Record<Fault, number> = {
    workerKills: 0,
    freezes: 0,
    redisKills: 0,
    connectionKills: 0,
    lostReplies: 0,
    cuts: 0,
  };
  readonly #targets: Targets;
  readonly #random: Random;
  readonly #pace: number;
  readonly #busyWorkers = new Set<number>();
  readonly #inFlight = new Set<Promise<void>>();
  #isOver = false;

  /** @param pace multiplies the pause between two faults */
  constructor(targets: Targets, random: Random, pace: number) {
    this.#targets = targets;
    this.#random = random;
    this.#pace = pace;
  }

  async run(): Promise<void> {
    while (!this.#isOver) {
      await sleep(this.#pace * this.#random.between(BETWEEN_FAULTS.least, BETWEEN_FAULTS.most));
      if (this.#isOver) break;
      const fault = this.#random.pick(DECK);
      const from = Date.now();
      const done = this.#inject(fault).finally(() => {
        if (fault !== 'workerKills') this.#targets.onFault(from, Date.now());
        this.#inFlight.delete(done);
      });
      this.#inFlight.add(done);
      done.catch(() => undefined); // thrown by the final Promise.all
      // While Redis is away, no other fault would have an effect.
      if (fault === 'redisKills') await done;
    }
    await Promise.all(this.#inFlight);
  }

  stop(): void {
    this.#isOver = true;
  }

  async #inject(fault: Fault): Promise<void> {
    const { pool, redis, proxy, direct } = this.#targets;
    if (fault === 'workerKills') return await this.#withWorker(fault, (worker) => pool.kill(worker));
    if (fault === 'freezes') {
      const forMs = this.#random.between(FREEZE.least, FREEZE.most);
      return await this.#withWorker(fault, (worker) => pool.freeze(worker, forMs));
    }
    this.counts[fault] += 1;
    switch (fault) {
      case 'redisKills':
        await redis.kill();
        await sleep(this.#random.between(REDIS_AWAY.least, REDIS_AWAY.most));
        return await redis.start();
      case 'connectionKills':
        for (const type of ['normal', 'pubsub'])
          await direct.call('CLIENT', 'KILL', 'TYPE', type).catch(() => undefined);
        return;
      case 'lostReplies':
        proxy.swallow();
        await sleep(this.#random.between(SWALLOW.least, SWALLOW.most));
        return proxy.cut();
      case 'cuts':
        return proxy.cut();
    }
  }

  /** Harms a worker without another fault in flight. At least one worker is always left unharmed. */
  async #withWorker(fault: Fault, harm: (worker: number) => Promise<void>): Promise<void> {
    const free = Array.from({ length: this.#targets.pool.size }, (_, at) => at).filter(
      (at) => !this.#busyWorkers.has(at),
    );
    if (free.length < 2) return;
    const worker = this.#random.pick(free);
    this.#busyWorkers.add(worker);
    this.counts[fault] += 1;
    await harm(worker).finally(() => this.#busyWorkers.delete(worker));
  }
}

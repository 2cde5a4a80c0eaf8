import { setTimeout as delay } from 'node:timers/promises';
import { type OpenClient, openClient } from '../../src/api/client/index.ts';
import type { Agent } from '../../src/domain/agent.ts';
import type { Durability } from '../../src/domain/durability.ts';
import { isTurnfoldError } from '../../src/domain/errors.ts';
import type { RedisTls } from '../../src/store/redis/address.ts';
import { openWorkers, SHARDS } from './fixture.ts';
import { until } from './servers.ts';

const CONVERSATIONS = 12;
const BEFORE_MS = 1_000;
/** Milliseconds that the replicas are behind when the master dies. */
const LAG_MS = 300;
const AFTER_MS = 3_000;
/** Milliseconds between two turns of one producer. */
const PAUSE_MS = 50;
const GO_ON_MS = 90_000;

export interface Failover {
  readonly redisUrl: string;
  readonly redisTls?: RedisTls;
  readonly durability?: Durability;
  /** The agent `guide` (default: it repeats its input). */
  readonly agent?: Agent;
  /** Stops the replicas, so that they fall behind the master. */
  lag(): void;
  /** Kills or freezes the master, and lets the replicas continue. */
  fail(): void;
}

export interface Figures {
  readonly acknowledged: number;
  /** Acknowledged turns that do not exist after the failover. */
  readonly lost: number;
  /** Inputs that are in a log more than once. */
  readonly twice: number;
  /** Inputs that precede an earlier accepted input. */
  readonly outOfOrder: number;
  /** Calls that failed with `accepted_unsure`. */
  readonly unsure: number;
  /** Turns whose settlement the failover lost, so that they were settled again. */
  readonly settledAgain: number;
  /** Milliseconds from the failure until every conversation has accepted (settled) another turn. */
  readonly acceptedAfterMs: number;
  readonly settledAfterMs: number;
  /** Number of compaction passes with summarization jobs that ended after the failover. */
  readonly fannedOutPasses: number;
}

/**
 * Runs producers and workers before, during and after the death of a master. Then counts the acknowledged turns that are left.
 */
export async function measureFailover(failover: Failover): Promise<Figures> {
  const { redisUrl, redisTls, durability, agent } = failover;
  const settlements = new Map<string, number>();
  const settledAt = new Map<string, number[]>();
  const fannedOutAt: number[] = [];
  const open = () =>
    openWorkers({
      redisUrl,
      redisTls,
      ...(agent && { agents: [agent] }),
      onEvent: (event) => {
        if (event.type === 'pass_ended' && event.sequences > 0) fannedOutAt.push(Date.now());
        if (event.type !== 'turn_settled') return;
        const id = event.conversation;
        settledAt.set(id, [...(settledAt.get(id) ?? []), Date.now()]);
        settlements.set(event.turn ?? '', (settlements.get(event.turn ?? '') ?? 0) + 1);
      },
    });
  const client = await openClient({ redisUrl, redisTls, shards: SHARDS, ...(durability && { durability }) });
  const workers = await Promise.all([open(), open()]);
  try {
    const producing = new AbortController();
    const producers = Array.from({ length: CONVERSATIONS }, (_, at) => new Producer(client, `c${at}`));
    const running = Promise.all(producers.map((producer) => producer.run(producing.signal)));
    running.catch(() => undefined); // awaited below
    await delay(BEFORE_MS);
    failover.lag();
    await delay(LAG_MS);
    const failedAt = Date.now();
    failover.fail();
    const haveGoneOn = (times: readonly (readonly number[])[]): boolean =>
      times.length === CONVERSATIONS && times.every((at) => firstAfter(at, failedAt) !== undefined);
    const listAccepted = (): number[][] => producers.map(({ acceptedAt }) => acceptedAt);
    await until('turns are accepted again', () => haveGoneOn(listAccepted()), GO_ON_MS);
    await until('turns are settled again', () => haveGoneOn([...settledAt.values()]), GO_ON_MS);
    await delay(AFTER_MS);
    producing.abort();
    await running;
    const kept = await Promise.all(producers.map((producer) => producer.readKept()));
    const acknowledged = producers.reduce((sum, { turns }) => sum + turns.length, 0);
    return {
      acknowledged,
      lost: acknowledged - kept.flat().length,
      twice: total(await Promise.all(producers.map((producer) => producer.countTwice()))),
      outOfOrder: total(await Promise.all(producers.map((producer) => producer.countOutOfOrder()))),
      unsure: total(producers.map(({ unsure }) => unsure)),
      settledAgain: [...settlements.values()].filter((times) => times > 1).length,
      acceptedAfterMs: lastToGoOn(listAccepted(), failedAt),
      settledAfterMs: lastToGoOn([...settledAt.values()], failedAt),
      fannedOutPasses: fannedOutAt.filter((at) => at > failedAt + LAG_MS).length,
    };
  } finally {
    await client.close();
    await Promise.all(workers.map((worker) => worker.close()));
  }
}

/**
 * Returns the first time that is clearly after the failure. A client may still receive the dead master's last answers a
 * moment later.
 */
function firstAfter(times: readonly number[], failedAt: number): number | undefined {
  return times.find((at) => at > failedAt + LAG_MS);
}

function lastToGoOn(times: readonly (readonly number[])[], failedAt: number): number {
  return Math.max(...times.map((at) => firstAfter(at, failedAt) ?? Number.NaN)) - failedAt;
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}

/** Enqueues the turns of one conversation, one after the other. A turn that was not acknowledged is repeated. */
class Producer {
  readonly turns: string[] = [];
  readonly acceptedAt: number[] = [];
  unsure = 0;
  readonly #client: OpenClient;
  readonly #conversation: string;

  constructor(client: OpenClient, conversation: string) {
    this.#client = client;
    this.#conversation = conversation;
  }

  async run(signal: AbortSignal): Promise<void> {
    for (let number = 1; !signal.aborted; number += 1) {
      const turn = `${this.#conversation}.${number}`;
      while (!(await this.#tryEnqueue(turn))) {
        if (signal.aborted) return;
        await delay(50);
      }
      await delay(PAUSE_MS);
    }
  }

  async #tryEnqueue(turn: string): Promise<boolean> {
    try {
      await this.#client.enqueueTurn({ conversation: this.#conversation, agent: 'guide', turn, input: turn });
    } catch (error) {
      if (isTurnfoldError(error, 'accepted_unsure')) this.unsure += 1;
      else if (!isTurnfoldError(error, 'redis_unavailable')) throw error;
      return false;
    }
    this.turns.push(turn);
    this.acceptedAt.push(Date.now());
    return true;
  }

  /** Waits for the settlement of all acknowledged turns. @returns the turns that still exist */
  async readKept(): Promise<string[]> {
    const kept: string[] = [];
    for (const turn of this.turns) {
      const view = await this.#client.result(this.#conversation, turn, { waitMs: 60_000 }).catch((error: unknown) => {
        if (isTurnfoldError(error, 'not_found')) return undefined;
        throw error;
      });
      if (view === undefined) continue;
      if (view.state !== 'completed') throw new Error(`${turn} is ${view.state}`);
      kept.push(turn);
    }
    return kept;
  }

  async countTwice(): Promise<number> {
    const inputs = await this.#readInputs();
    return inputs.length - new Set(inputs).size;
  }

  async countOutOfOrder(): Promise<number> {
    const numbers = (await this.#readInputs()).map((input) => Number(input.split('.')[1]));
    return numbers.filter((number, at) => number < (numbers[at - 1] ?? 0)).length;
  }

  async #readInputs(): Promise<string[]> {
    const log = await this.#client.log(this.#conversation);
    return log.flatMap(({ message }) => (message.role === 'user' ? [message.content] : []));
  }
}

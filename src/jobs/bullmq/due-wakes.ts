import type { ConversationRef } from '../../domain/ids.ts';
import { DEFAULT_PRIORITY } from '../queues.ts';
import type { QueueConnection } from './queue-connection.ts';

/** A wake in the sorted set of wakes that have no job. */
export interface DueWake {
  readonly conversation: ConversationRef;
  /** Id of the wake, as the store has recorded it. */
  readonly wake: string;
}

interface TakenWakes {
  readonly wakes: readonly DueWake[];
  /** Number of wakes that still wait. */
  readonly left: number;
}

/** A queue shard of BullMQ, or a worker of it. */
interface QueueKeys {
  toKey(type: string): string;
}

/**
 * Number of waiting jobs from which a further wake needs no job. While so many jobs wait, it is likely that no worker has room. Jobs with a larger
 * priority number do not count, because they run later than the wake.
 */
const CROWD = 8;

/** BullMQ's score of a prioritized job is the job's priority multiplied by this, plus a counter. */
export const PRIORITY_SCORE = 2 ** 32;
/** The jobs of the priority of wakes have a score from `FIRST` and below `LATER`. */
const FIRST = DEFAULT_PRIORITY * PRIORITY_SCORE;
const LATER = FIRST + PRIORITY_SCORE;

/** Name of the sorted set. No job can have this key, because the id of a job has no colon. */
const DUE = 'due:wakes';

/**
 * Adds wakes to the sorted set, by the time in ms, if enough jobs wait. A wake that is known keeps its place.
 * KEYS: due, prioritized. ARGV: LATER, CROWD, members. Reply: 1 | 0 if few jobs wait
 */
const PUT = [
  "if redis.call('ZCOUNT', KEYS[2], '-inf', '(' .. ARGV[1]) < tonumber(ARGV[2]) then return 0 end",
  "local clock = redis.call('TIME')",
  "local now = string.format('%.0f', clock[1] * 1000 + math.floor(clock[2] / 1000))",
  "for at = 3, #ARGV do redis.call('ZADD', KEYS[1], 'NX', now, ARGV[at]) end",
  'return 1',
].join('\n');

/**
 * Takes the first wakes. A paused queue gives no wake. Some jobs run before every wake: jobs with a smaller priority number, and
 * jobs of dead workers, which are in the list `wait`. One caller is kept for each of them. The other callers are divided between
 * wakes and jobs by their numbers, so that both wait equally long. For 10 callers, 30 wakes and 10 jobs, 7 or 8 wakes are taken:
 * the microseconds of the clock decide.
 * BullMQ counts the jobs that end, so wakes that get no job are added to that count.
 * KEYS: due, wait, prioritized, meta, count of completed jobs. ARGV: FIRST, LATER, number of callers, 1 if they add no jobs
 * Reply: number of wakes that are left, then members
 */
const TAKE = [
  "local left = redis.call('ZCARD', KEYS[1])",
  "if left == 0 or redis.call('HEXISTS', KEYS[4], 'paused') == 1 then return { left } end",
  "local callers = ARGV[3] - redis.call('LLEN', KEYS[2]) - redis.call('ZCOUNT', KEYS[3], '-inf', '(' .. ARGV[1])",
  'if callers <= 0 then return { left } end',
  "local jobs = redis.call('ZCOUNT', KEYS[3], ARGV[1], '(' .. ARGV[2])",
  "local share = callers * left / (left + jobs) + redis.call('TIME')[2] % 1000 / 1000",
  'if share < 1 then return { left } end',
  "local taken = redis.call('ZRANGE', KEYS[1], 0, math.floor(share) - 1)",
  "redis.call('ZREM', KEYS[1], unpack(taken))",
  "if ARGV[4] == '1' then redis.call('HINCRBY', KEYS[5], 'count', #taken) end",
  'return { left - #taken, unpack(taken) }',
].join('\n');

/**
 * Finds a wake. If no job waits or runs, perhaps no worker will look for wakes. So the wake is removed, and the caller adds a job.
 * KEYS: due, prioritized, active. ARGV: member. Reply: 1 | 0 if the wake is not there, or was removed
 */
const FIND = [
  "if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end",
  "if redis.call('ZCARD', KEYS[2]) > 0 or redis.call('LLEN', KEYS[3]) > 0 then return 1 end",
  "redis.call('ZREM', KEYS[1], ARGV[1])",
  'return 0',
].join('\n');

/** The scripts above as methods of a connection, which `defineCommand` of ioredis adds. */
interface DueCommands {
  putDueWakes(...keysAndArgs: (string | number)[]): Promise<number>;
  takeDueWakes(...keysAndArgs: (string | number)[]): Promise<[number, ...string[]]>;
  findDueWake(...keysAndArgs: string[]): Promise<number>;
}

/**
 * The sorted set of due wakes of each queue shard. A due wake names a conversation with a turn, and has no job. It is put there
 * while many jobs wait. A delivery that has ended its conversation takes the next due wake and keeps its job. A job costs Redis
 * far more than a member of a set.
 *
 * Only wakes of the default priority are put here. Each key has the hash tag of its queue shard.
 */
export class DueWakes {
  readonly #redis: QueueConnection & DueCommands;
  /** Queues in which enough jobs waited when this process last looked. */
  readonly #crowded = new WeakSet<QueueKeys>();
  readonly #looking = new WeakSet<QueueKeys>();
  readonly #batches = new WeakMap<QueueKeys, TickBatch<DueWake, boolean>>();

  constructor(connection: QueueConnection) {
    connection.defineCommand('putDueWakes', { numberOfKeys: 2, lua: PUT });
    connection.defineCommand('takeDueWakes', { numberOfKeys: 5, lua: TAKE });
    connection.defineCommand('findDueWake', { numberOfKeys: 3, lua: FIND });
    this.#redis = connection as QueueConnection & DueCommands;
  }

  /**
   * Puts a wake beside the jobs of a crowded queue.
   * @returns false if the caller must add a job
   */
  async put(queue: QueueKeys, wake: DueWake): Promise<boolean> {
    if (!this.#crowded.has(queue)) {
      this.#look(queue);
      return false;
    }
    let batch = this.#batches.get(queue);
    if (batch === undefined) {
      batch = new TickBatch((wakes) => this.#putAll(queue, wakes));
      this.#batches.set(queue, batch);
    }
    return (await batch.add(wake)) ?? false;
  }

  async #putAll(queue: QueueKeys, wakes: readonly DueWake[]): Promise<boolean[]> {
    const keys = [DUE, 'prioritized'].map((key) => queue.toKey(key));
    const isPut = await this.#redis.putDueWakes(...keys, LATER, CROWD, ...wakes.map(writeMember));
    if (isPut === 0) this.#crowded.delete(queue);
    return wakes.map(() => isPut === 1);
  }

  /** Takes up to `most` wakes. `getJobs`: true if the caller adds a job for each. */
  async take(queue: QueueKeys, most: number, { getJobs }: { readonly getJobs: boolean }): Promise<TakenWakes> {
    const keys = [DUE, 'wait', 'prioritized', 'meta', 'metrics:completed'].map((key) => queue.toKey(key));
    const [left, ...members] = await this.#redis.takeDueWakes(...keys, FIRST, LATER, most, getJobs ? 0 : 1);
    return { wakes: members.map(readMember).filter((wake) => wake !== undefined), left };
  }

  /** True if the wake waits here, and a job will lead a worker to it. */
  async has(queue: QueueKeys, wake: DueWake): Promise<boolean> {
    const keys = [DUE, 'prioritized', 'active'].map((key) => queue.toKey(key));
    return (await this.#redis.findDueWake(...keys, writeMember(wake))) === 1;
  }

  /** Removes the wakes of an erased conversation. */
  async remove(queue: QueueKeys, { tenant, id }: ConversationRef): Promise<void> {
    const due = queue.toKey(DUE);
    let cursor = '0';
    do {
      const [next, found] = await this.#redis.zscan(due, cursor, 'MATCH', `*|${tenant}|${id}`, 'COUNT', 1_000);
      const members = found.filter((_, place) => place % 2 === 0); // scores stand between the members
      if (members.length > 0) await this.#redis.zrem(due, ...members);
      cursor = next;
    } while (cursor !== '0');
  }

  async count(queue: QueueKeys): Promise<number> {
    return await this.#redis.zcard(queue.toKey(DUE));
  }

  /** Returns since when the first wake waits, in ms since epoch by the clock of Redis. */
  async readOldestSince(queue: QueueKeys): Promise<number | undefined> {
    const [, since] = await this.#redis.zrange(queue.toKey(DUE), '0', '0', 'WITHSCORES');
    return since === undefined ? undefined : Number(since);
  }

  /** Counts the waiting jobs, with at most one command in flight. The answer only saves work, so an error is ignored. */
  #look(queue: QueueKeys): void {
    if (this.#looking.has(queue)) return;
    this.#looking.add(queue);
    this.#redis
      .zcount(queue.toKey('prioritized'), '-inf', `(${LATER}`)
      .then((waiting) => void (waiting >= CROWD && this.#crowded.add(queue)))
      .catch(() => undefined)
      .finally(() => this.#looking.delete(queue));
  }
}

const MEMBER = /^([\w.-]{1,128})\|([\w.-]{1,128})\|([\w.-]{1,128})$/;

/** No id contains the separator. */
function writeMember({ conversation: { tenant, id }, wake }: DueWake): string {
  return `${wake}|${tenant}|${id}`;
}

/** Returns undefined for a member that another program wrote. */
function readMember(member: string): DueWake | undefined {
  const [, wake, tenant, id] = MEMBER.exec(member) ?? [];
  if (wake === undefined || tenant === undefined || id === undefined) return undefined;
  return { conversation: { tenant, id }, wake };
}

interface Call<Item, Reply> {
  readonly item: Item;
  readonly resolve: (reply: Reply | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** Collects the calls of one pass of the event loop, and runs them as one. A script costs Redis more than its commands. */
export class TickBatch<Item, Reply> {
  readonly #run: (items: readonly Item[]) => Promise<readonly Reply[]>;
  #calls: Call<Item, Reply>[] = [];

  /** @param run returns replies in the order of the items, and may return fewer */
  constructor(run: (items: readonly Item[]) => Promise<readonly Reply[]>) {
    this.#run = run;
  }

  /** Returns the reply for this item, or undefined if there is none. */
  add(item: Item): Promise<Reply | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<Reply | undefined>();
    if (this.#calls.length === 0) setImmediate(() => void this.#flush());
    this.#calls.push({ item, resolve, reject });
    return promise;
  }

  async #flush(): Promise<void> {
    const calls = this.#calls;
    this.#calls = [];
    try {
      const replies = await this.#run(calls.map(({ item }) => item));
      for (const [index, { resolve }] of calls.entries()) resolve(replies[index]);
    } catch (error) {
      for (const { reject } of calls) reject(error);
    }
  }
}

import type { ConversationRef } from '../domain/ids.ts';
import { readUlidTime } from '../domain/ulid.ts';
import { DEFAULT_PRIORITY } from '../jobs/queues.ts';
import type { QueueConnection } from './queue-connection.ts';

/** The wake of a turn that waits without a job. */
export interface DueWake {
  readonly conversation: ConversationRef;
  /** Id of the wake, as the store has recorded it. */
  readonly wake: string;
}

export interface TakenWakes {
  readonly wakes: readonly DueWake[];
  /** Number of wakes that still wait. */
  readonly left: number;
}

/** A queue shard of BullMQ, or a worker of it. */
export interface QueueKeys {
  toKey(type: string): string;
}

/** Number of waiting jobs from which a further wake needs no job. While so many jobs wait, no worker has room. */
const CROWD = 8;

/**
 * Adds a wake to the sorted set if enough jobs wait. Its score is the one that BullMQ would give a job now, so that wakes and
 * jobs have one order. Wakes of the same score are in the order of their ids, which are ULIDs.
 * KEYS: due, prioritized, counter of jobs with a priority. ARGV: member, priority, CROWD. Reply: 1 | 0 if few jobs wait
 */
const PUT = `
if redis.call('ZCARD', KEYS[2]) < tonumber(ARGV[3]) then return 0 end
local place = ARGV[2] * 0x100000000 + (redis.call('GET', KEYS[3]) or 0) % 0x100000000
redis.call('ZADD', KEYS[1], 'NX', string.format('%.0f', place), ARGV[1])
return 1`;

/**
 * Takes the first wakes, but none that a job must precede. Jobs of dead workers (in the list `wait`) precede all others.
 * A paused queue gives none. BullMQ counts the jobs that end, so wakes that get no job are added to that count.
 * KEYS: due, wait, prioritized, meta, count of completed jobs. ARGV: most wakes, 1 if they get no job
 * Reply: number of wakes that are left, then members
 */
const TAKE = `
local left = redis.call('ZCARD', KEYS[1])
if left == 0 or redis.call('HEXISTS', KEYS[4], 'paused') == 1 or redis.call('LLEN', KEYS[2]) > 0 then return { left } end
local first = redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')[2]
local taken = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', first and '(' .. first or '+inf', 'LIMIT', 0, ARGV[1])
if #taken == 0 then return { left } end
redis.call('ZREM', KEYS[1], unpack(taken))
if ARGV[2] == '1' then redis.call('HINCRBY', KEYS[5], 'count', #taken) end
return { left - #taken, unpack(taken) }`;

/**
 * Finds a wake. If no job waits, perhaps no worker will look for wakes. So the wake is removed, and the caller adds a job.
 * KEYS: due, prioritized. ARGV: member. Reply: 1 | 0 if the wake is not there, or was removed
 */
const FIND = `
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
if redis.call('ZCARD', KEYS[2]) > 0 then return 1 end
redis.call('ZREM', KEYS[1], ARGV[1])
return 0`;

/** The scripts above as methods of a connection, which `defineCommand` of ioredis adds. */
interface DueCommands {
  putDueWake(due: string, prioritized: string, counter: string, ...args: (string | number)[]): Promise<number>;
  takeDueWakes(...keysAndArgs: (string | number)[]): Promise<[number, ...string[]]>;
  findDueWake(due: string, prioritized: string, member: string): Promise<number>;
}

/**
 * Wakes of turns that wait in a sorted set beside BullMQ's jobs, in the same order as jobs. They exist only while workers
 * have no room: a worker that ends a conversation then takes the next wake and keeps its job. The life of a job costs Redis
 * more than a whole turn, a wake in the set costs a tenth of that.
 *
 * Only wakes of the default priority are put here. Each key has the hash tag of its queue shard.
 */
export class DueWakes {
  readonly #redis: QueueConnection & DueCommands;
  /** Queues in which enough jobs waited when this process last looked. */
  readonly #crowded = new WeakSet<QueueKeys>();
  readonly #looking = new WeakSet<QueueKeys>();

  constructor(connection: QueueConnection) {
    connection.defineCommand('putDueWake', { numberOfKeys: 3, lua: PUT });
    connection.defineCommand('takeDueWakes', { numberOfKeys: 5, lua: TAKE });
    connection.defineCommand('findDueWake', { numberOfKeys: 2, lua: FIND });
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
    const keys = ['due', 'prioritized', 'pc'] as const;
    const [due, prioritized, counter] = keys.map((key) => queue.toKey(key)) as [string, string, string];
    const isPut = await this.#redis.putDueWake(due, prioritized, counter, writeMember(wake), DEFAULT_PRIORITY, CROWD);
    if (isPut === 0) this.#crowded.delete(queue);
    return isPut === 1;
  }

  /** Takes up to `most` wakes. `getJobs`: true if the caller adds a job for each. */
  async take(queue: QueueKeys, most: number, { getJobs }: { readonly getJobs: boolean }): Promise<TakenWakes> {
    const keys = ['due', 'wait', 'prioritized', 'meta', 'metrics:completed'].map((key) => queue.toKey(key));
    const [left, ...members] = await this.#redis.takeDueWakes(...keys, most, getJobs ? 0 : 1);
    return { wakes: members.map(readMember).filter((wake) => wake !== undefined), left };
  }

  /** True if the wake waits here, and a job will lead a worker to it. */
  async has(queue: QueueKeys, wake: DueWake): Promise<boolean> {
    const reply = await this.#redis.findDueWake(queue.toKey('due'), queue.toKey('prioritized'), writeMember(wake));
    return reply === 1;
  }

  async count(queue: QueueKeys): Promise<number> {
    return await this.#redis.zcard(queue.toKey('due'));
  }

  /** Returns the time when the first wake was created, in ms since epoch by the clock of its process. */
  async readOldestSince(queue: QueueKeys): Promise<number | undefined> {
    const [first] = await this.#redis.zrange(queue.toKey('due'), '0', '0');
    const wake = first === undefined ? undefined : readMember(first);
    return wake && readUlidTime(wake.wake);
  }

  /** Counts the waiting jobs, with at most one command in flight. The answer only saves work, so an error is ignored. */
  #look(queue: QueueKeys): void {
    if (this.#looking.has(queue)) return;
    this.#looking.add(queue);
    this.#redis
      .zcard(queue.toKey('prioritized'))
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

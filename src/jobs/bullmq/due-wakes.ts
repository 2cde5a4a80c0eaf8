/**
 * Due wakes: wakes without a job.
 *
 * A wake is usually a job of BullMQ, and a job costs Redis far more than a member of a sorted set. While eight or more
 * jobs wait, workers probably have no free capacity. A further wake is then only added to the sorted set `due:wakes` of
 * its queue shard. A job that has handled its conversation then takes the next due wake and handles that conversation,
 * too (`due-wake-runner.ts`).
 *
 * With due wakes, conversations of one turn run at 0.26 to 0.30 of the rate of empty jobs. With a job for each wake,
 * the share was 0.21 to 0.23 (docs/explanation/performance.md).
 *
 * Three rules keep due wakes safe:
 * - Due wakes leave in the order in which they came. They share the workers with the waiting jobs, in proportion to
 *   their numbers.
 * - An idle worker looks at the set at most four times a second. It adds jobs for as many wakes as it can run.
 * - If a worker dies with a wake, the sweeper adds a new wake, as for a lost job.
 *
 * Only wakes of turns with the default priority become due wakes.
 */
import type { ConversationRef } from '../../domain/ids.ts';
import { DEFAULT_PRIORITY } from '../queues.ts';
import type { QueueConnection } from './queue-connection.ts';

export interface DueWake {
  readonly conversation: ConversationRef;
  /** Id of the wake that the store has recorded. */
  readonly wake: string;
}

interface QueueKeys {
  toKey(type: string): string;
}

const CROWD = 8;

/** BullMQ's score of a prioritized job is its priority multiplied by this number, plus a counter. */
export const PRIORITY_SCORE = 2 ** 32;
/** Jobs with the default priority have a score from `FIRST` to just below `LATER`. */
const FIRST = DEFAULT_PRIORITY * PRIORITY_SCORE;
const LATER = FIRST + PRIORITY_SCORE;

/** Name of the set of due wakes. The id of a job has no colon, so no job can have this key. */
const DUE = 'due:wakes';

/**
 * Adds due wakes, scored by the time in ms, if at least CROWD jobs wait. A known wake keeps its place.
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
 * Takes the first due wakes for callers that could each run one, unless the queue is paused. Jobs with a smaller
 * priority number, and jobs of dead workers in `wait`, run before every wake, so one caller is reserved for each. The
 * other callers are divided between wakes and jobs in proportion to their numbers, so that both wait equally long. For
 * 10 callers, 30 wakes and 10 jobs, the microseconds of the clock decide between 7 and 8 wakes. Wakes for which no job
 * is added count as ended jobs in BullMQ's metrics.
 * KEYS: due, wait, prioritized, meta, count of completed jobs. ARGV: FIRST, LATER, number of callers, 1 if they add no
 * jobs
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
 * Checks that the set has a due wake. If no job waits or runs, perhaps no worker ever takes the wake. The script then
 * removes the wake, and the caller adds a job.
 * KEYS: due, prioritized, active. ARGV: member. Reply: 1 | 0 if the wake is not there, or was removed
 */
const FIND = [
  "if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end",
  "if redis.call('ZCARD', KEYS[2]) > 0 or redis.call('LLEN', KEYS[3]) > 0 then return 1 end",
  "redis.call('ZREM', KEYS[1], ARGV[1])",
  'return 0',
].join('\n');

interface DueCommands {
  putDueWakes(...keysAndArgs: (string | number)[]): Promise<number>;
  takeDueWakes(...keysAndArgs: (string | number)[]): Promise<[number, ...string[]]>;
  findDueWake(...keysAndArgs: string[]): Promise<number>;
}

export class DueWakes {
  readonly #redis: QueueConnection & DueCommands;
  /** Queues in which at least `CROWD` jobs waited when this process last counted the jobs. */
  readonly #crowded = new WeakSet<QueueKeys>();
  readonly #looking = new WeakSet<QueueKeys>();
  readonly #batches = new WeakMap<QueueKeys, TickBatch<DueWake, boolean>>();

  constructor(connection: QueueConnection) {
    connection.defineCommand('putDueWakes', { numberOfKeys: 2, lua: PUT });
    connection.defineCommand('takeDueWakes', { numberOfKeys: 5, lua: TAKE });
    connection.defineCommand('findDueWake', { numberOfKeys: 3, lua: FIND });
    this.#redis = connection as QueueConnection & DueCommands;
  }

  /** @returns false if few jobs wait, so that the caller must add a job for the wake */
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

  /** @param getJobs true if the caller adds a job for each wake */
  async take(queue: QueueKeys, most: number, { getJobs }: { readonly getJobs: boolean }) {
    const keys = [DUE, 'wait', 'prioritized', 'meta', 'metrics:completed'].map((key) => queue.toKey(key));
    const [left, ...members] = await this.#redis.takeDueWakes(...keys, FIRST, LATER, most, getJobs ? 0 : 1);
    return { wakes: members.map(readMember).filter((wake) => wake !== undefined), left };
  }

  /** True if the wake is in the set, and a worker will take the wake after a job that waits or runs now. */
  async has(queue: QueueKeys, wake: DueWake): Promise<boolean> {
    const keys = [DUE, 'prioritized', 'active'].map((key) => queue.toKey(key));
    return (await this.#redis.findDueWake(...keys, writeMember(wake))) === 1;
  }

  async remove(queue: QueueKeys, { tenant, id }: ConversationRef): Promise<void> {
    const due = queue.toKey(DUE);
    let cursor = '0';
    do {
      const [next, found] = await this.#redis.zscan(due, cursor, 'MATCH', `*|${tenant}|${id}`, 'COUNT', 1_000);
      const members = found.filter((_, place) => place % 2 === 0); // a score follows each member
      if (members.length > 0) await this.#redis.zrem(due, ...members);
      cursor = next;
    } while (cursor !== '0');
  }

  async count(queue: QueueKeys): Promise<number> {
    return await this.#redis.zcard(queue.toKey(DUE));
  }

  /** Time of the oldest due wake, in ms since epoch, by the clock of Redis. */
  async readOldestSince(queue: QueueKeys): Promise<number | undefined> {
    const [, since] = await this.#redis.zrange(queue.toKey(DUE), '0', '0', 'WITHSCORES');
    return since === undefined ? undefined : Number(since);
  }

  /** Counts the waiting jobs, with at most one command in flight. The count only saves work, so an error is ignored. */
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

/** Joins the parts with `|`, which no id contains. */
function writeMember({ conversation: { tenant, id }, wake }: DueWake): string {
  return `${wake}|${tenant}|${id}`;
}

/** Reads a member of the set. Undefined for a member that another program wrote. */
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

/** Joins all calls of one pass of the event loop into one call of a script, which saves Redis time. */
export class TickBatch<Item, Reply> {
  readonly #run: (items: readonly Item[]) => Promise<readonly Reply[]>;
  #calls: Call<Item, Reply>[] = [];

  /** @param run returns replies in the order of the items, and may return fewer */
  constructor(run: (items: readonly Item[]) => Promise<readonly Reply[]>) {
    this.#run = run;
  }

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

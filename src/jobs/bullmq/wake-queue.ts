import { once } from 'node:events';
import type { JobType, Queue } from 'bullmq';
import { TurnfoldError } from '../../domain/errors.ts';
import { type ConversationRef, DEFAULT_TENANT } from '../../domain/ids.ts';
import { readJsonText } from '../../domain/json-text.ts';
import type { RedisLocation } from '../../store/redis/address.ts';
import { nameRedisError } from '../../store/redis/errors.ts';
import type { ErasedJobs, WakeQueue } from '../ports.ts';
import { DEFAULT_PRIORITY, INBOX_LIMITS, QUEUES } from '../queues.ts';
import { DueWakes } from './due-wakes.ts';
import { openQueueConnection, type QueueConnection, type QueueErrorListener } from './queue-connection.ts';
import {
  countJobs,
  type InboxReport,
  type QueueHour,
  type QueueReport,
  readHour,
  reportInbox,
  reportQueues,
  type StateCount,
} from './queue-reports.ts';
import { describeWakeJob, type InboxPlace, jobIdOf, openInboxQueue, QueueSet, WAKE_JOBS } from './queue-set.ts';
import { readShardWaits, type ShardWait } from './shard-waits.ts';

interface WakeQueueOptions extends RedisLocation {
  readonly shards: number;
  readonly onError: QueueErrorListener;
  /** True for clients: every call ends within a second, and throws `redis_unavailable` if Redis does not answer. */
  readonly failsFast?: boolean;
}

export interface OpenWakeQueue extends WakeQueue {
  countJobs(): Promise<StateCount[]>;
  readShardWaits(): Promise<ShardWait[]>;
  reportQueues(): Promise<QueueReport[]>;
  readHour(): Promise<QueueHour[]>;
  reportInbox(): Promise<InboxReport>;
  /** Waits at most a second for the first connect. Calls of `listQueues` before that may fail. */
  connect(): Promise<void>;
  listQueues(): BoardQueue[];
  close(): Promise<void>;
}

/** A queue, for the web pages of `fleet`. This interface keeps the type of BullMQ's queue inside this folder. */
export interface BoardQueue {
  readonly shard: number;
  readonly queue: object;
}

/** States of a job that will still be delivered. An active job is not among them, because its worker may be dead. */
const PENDING_STATES: ReadonlySet<string> = new Set(['waiting', 'prioritized', 'delayed']);

/** ms for a call of a client, which needs the rest of its second. A wake that arrives later does no harm. */
const FAIL_FAST_MS = 900;
/** ms for a report or an erase. Redis lists all its clients for each shard, or an erase reads all jobs that wait. */
const REPORT_MS = 10_000;

/** Opens the queue of wakes. Calls throw `redis_full`, and with `failsFast` also `redis_unavailable`. */
export function openWakeQueue(options: WakeQueueOptions): OpenWakeQueue {
  const { shards, prefix, onError, failsFast = false } = options;
  const connection = openQueueConnection(options);
  const queues = new QueueSet({ connection, names: Object.values(QUEUES), shards, prefix, onError, failsFast });
  const dueWakes = new DueWakes(connection);
  const eraser = new JobEraser({ connection, prefix }, queues, dueWakes);
  const call = failsFast ? callWithinBudget : callNamed;
  return {
    wake(kind, conversation, wake, { priority = WAKE_JOBS[kind].priority, traceParent } = {}) {
      const queue = queues.of(WAKE_JOBS[kind].queue, conversation);
      return call(connection, async () => {
        const mayBeDue = kind === 'turn' && priority === DEFAULT_PRIORITY;
        if (mayBeDue && (await dueWakes.put(queue, { conversation, wake }))) return;
        const { name, data, opts } = describeWakeJob({ kind, conversation, wake, priority, traceParent });
        await queue.add(name, data, opts);
      });
    },
    isPending(kind, conversation, wake) {
      return call(connection, async () => {
        const queue = queues.of(WAKE_JOBS[kind].queue, conversation);
        const isDue = kind === 'turn' && (await dueWakes.has(queue, { conversation, wake }));
        if (!isDue && !PENDING_STATES.has(await queue.getJobState(jobIdOf(wake)))) return false;
        // Idle workers wait for this marker. The worker that removed it may have died. An error is ignored, because the
        // result of this function is already known.
        await connection.zadd(queue.toKey('marker'), 0, '0').catch(() => undefined);
        return true;
      });
    },
    async eraseJobs(...erased) {
      // An erase has a longer limit. This PING notices an unreachable Redis as fast as other calls do.
      await callWithinBudget(connection, () => connection.ping());
      await callWithinBudget(connection, () => eraser.erase(...erased), REPORT_MS);
    },
    countJobs: () => callWithinBudget(connection, () => countJobs(queues, dueWakes)),
    readShardWaits: () => callWithinBudget(connection, () => readShardWaits(queues, connection, dueWakes)),
    reportQueues: () => callWithinBudget(connection, () => reportQueues(queues, connection, dueWakes), REPORT_MS),
    readHour: () => callWithinBudget(connection, () => readHour(queues, Date.now())),
    reportInbox: () => callWithinBudget(connection, () => reportInbox({ connection, prefix }, onError), REPORT_MS),
    connect: () => callWithinBudget(connection, async () => undefined),
    listQueues: () => [...queues.entries()].flatMap(([, all]) => all.map((queue, shard) => ({ shard, queue }))),
    async close() {
      await queues.close();
      connection.disconnectAll();
    },
  };
}

type Call = <T>(connection: QueueConnection, run: () => Promise<T>) => Promise<T>;

const callNamed: Call = async (_connection, run) => {
  try {
    return await run();
  } catch (error) {
    throw nameRedisError(error);
  }
};

/** The budget includes the first connect. If the connection was lost, the call fails at once. */
async function callWithinBudget<T>(
  connection: QueueConnection,
  run: () => Promise<T>,
  budgetMs = FAIL_FAST_MS,
): Promise<T> {
  const budget = new AbortController();
  const { promise: end, reject } = Promise.withResolvers<never>();
  // `AbortSignal.timeout` cannot be stopped. Its abort would run after each call, and cost more than the call.
  const timer = setTimeout(() => {
    budget.abort();
    reject(budget.signal.reason);
  }, budgetMs);
  try {
    return await Promise.race([connectAndRun(connection, run, budget.signal), end]);
  } catch (error) {
    if (!budget.signal.aborted) throw nameRedisError(error);
    throw new TurnfoldError(
      'redis_unavailable',
      `Redis did not answer within ${budgetMs} ms. Check that Redis is running and reachable, then retry`,
    );
  } finally {
    clearTimeout(timer);
  }
}

async function connectAndRun<T>(connection: QueueConnection, run: () => Promise<T>, budget: AbortSignal): Promise<T> {
  if (connection.status === 'connecting' || connection.status === 'connect') {
    await once(connection, 'ready', { signal: budget });
  }
  return await run();
}

const ENDED = ['completed', 'failed'] as const satisfies JobType[];
const ALL = ['wait', 'prioritized', 'delayed', 'waiting-children', ...ENDED] as const satisfies JobType[];
const BATCH = 200;

/**
 * Finds jobs by texts in their data. The data stays in Redis, because most jobs belong to other conversations.
 * KEYS: jobs. ARGV: texts. Reply: positions in KEYS
 */
const FIND_JOBS = [
  'local found = {}',
  'for at, key in ipairs(KEYS) do',
  "  local data = redis.pcall('HGET', key, 'data')",
  '  for _, text in ipairs(ARGV) do',
  "    if type(data) == 'string' and string.find(data, text, 1, true) then found[#found + 1] = at break end",
  '  end',
  'end',
  'return found',
].join('\n');

/** Removes jobs, wakes and events of erased conversations. BullMQ removes a running job as soon as it ends. */
class JobEraser {
  readonly #place: InboxPlace;
  readonly #queues: QueueSet;
  readonly #dueWakes: DueWakes;

  constructor(place: InboxPlace, queues: QueueSet, dueWakes: DueWakes) {
    this.#place = place;
    this.#queues = queues;
    this.#dueWakes = dueWakes;
  }

  async erase(conversations: readonly ConversationRef[], jobs: ErasedJobs): Promise<void> {
    if (conversations.length === 0) return;
    await this.#eraseFromInbox(conversations, jobs);
    if (jobs === 'ended') return; // only the inbox keeps jobs that have ended
    for (const conversation of conversations) {
      for (const [name] of this.#queues.entries()) {
        const queue = this.#queues.of(name, conversation);
        for (const id of await this.#findJobs(queue, [conversation], ALL)) await queue.remove(id);
        await this.#dueWakes.remove(queue, conversation);
      }
    }
  }

  async #eraseFromInbox(conversations: readonly ConversationRef[], jobs: ErasedJobs): Promise<void> {
    const inbox = openInboxQueue(this.#place);
    try {
      const removed = await this.#findJobs(inbox, conversations, jobs === 'all' ? ALL : ENDED);
      for (const id of removed) await inbox.remove(id);
      await this.#eraseEvents(inbox.toKey('events'), conversations, new Set(removed));
    } finally {
      await inbox.close();
    }
  }

  async #findJobs(
    queue: Queue,
    conversations: readonly ConversationRef[],
    states: readonly JobType[],
  ): Promise<string[]> {
    const { connection } = this.#place;
    const ids = await queue.getRanges([...states], 0, -1);
    const texts = conversations.map(({ id }) => JSON.stringify(id));
    const found: string[] = [];
    for (let from = 0; from < ids.length; from += BATCH) {
      const batch = ids.slice(from, from + BATCH);
      const keys = batch.map((id) => queue.toKey(id));
      const places = (await connection.eval(FIND_JOBS, keys.length, ...keys, ...texts)) as number[];
      const named = places.flatMap((place) => batch[place - 1] ?? []);
      for (const id of named) {
        const data = await connection.hget(queue.toKey(id), 'data');
        if (belongsTo(data ?? '', conversations)) found.push(id);
      }
    }
    return found;
  }

  /** Removes events of a conversation's jobs. Events repeat the id of a job, and what it returned or why it failed. */
  async #eraseEvents(key: string, conversations: readonly ConversationRef[], jobs: ReadonlySet<string>): Promise<void> {
    const { connection } = this.#place;
    const texts = conversations.map(({ id }) => JSON.stringify(id));
    let from = '-';
    for (;;) {
      const events = await connection.xrange(key, from, '+', 'COUNT', BATCH);
      const erased = events.filter(([, fields]) =>
        fields.some(
          (field) => jobs.has(field) || (field.startsWith('{') && texts.some((text) => field.includes(text))),
        ),
      );
      if (erased.length > 0) await connection.xdel(key, ...erased.map(([id]) => id));
      const last = events.at(-1);
      if (last === undefined || events.length < BATCH) return;
      from = `(${last[0]}`;
    }
  }
}

/**
 * Job data that names a conversation: in the inbox by `conversation`, elsewhere by `id`. No tenant: the default tenant.
 */
interface Named {
  readonly tenant?: unknown;
  readonly conversation?: unknown;
  readonly id?: unknown;
}

function belongsTo(data: string, conversations: readonly ConversationRef[]): boolean {
  // A job that no worker could read belongs to the conversation that its text names.
  if (data.length > INBOX_LIMITS.dataCharacters) return true;
  const named = readJsonText(data) as Named | null | undefined;
  if (named === undefined) return true;
  const { tenant = DEFAULT_TENANT, conversation, id = conversation } = named ?? {};
  return conversations.some((ref) => ref.tenant === tenant && ref.id === id);
}

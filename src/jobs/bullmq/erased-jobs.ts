import { type JobType, Queue } from 'bullmq';
import { type ConversationRef, DEFAULT_TENANT } from '../../domain/ids.ts';
import { readJsonText } from '../../domain/json-text.ts';
import type { ErasedJobs } from '../ports.ts';
import { INBOX_LIMITS, INBOX_QUEUE, queuePrefix } from '../queues.ts';
import type { DueWakes } from './due-wakes.ts';
import type { QueueConnection } from './queue-connection.ts';
import type { QueueSet } from './queue-set.ts';

const ENDED = ['completed', 'failed'] as const satisfies JobType[];
const ALL = ['wait', 'prioritized', 'delayed', 'waiting-children', ...ENDED] as const satisfies JobType[];
const BATCH = 200;

/**
 * Finds jobs by texts in their data, which stays in Redis: most jobs belong to other conversations.
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

interface Place {
  readonly connection: QueueConnection;
  readonly prefix: string | undefined;
}

/** Removes what the queues hold of erased conversations. A running job is removed as soon as it ends. */
export class JobEraser {
  readonly #place: Place;
  readonly #queues: QueueSet;
  readonly #dueWakes: DueWakes;

  constructor(place: Place, queues: QueueSet, dueWakes: DueWakes) {
    this.#place = place;
    this.#queues = queues;
    this.#dueWakes = dueWakes;
  }

  async erase(conversations: readonly ConversationRef[], jobs: ErasedJobs): Promise<void> {
    if (conversations.length === 0) return;
    await this.#eraseFromInbox(conversations, jobs);
    if (jobs === 'ended') return; // wakes that have ended leave no job
    for (const conversation of conversations) {
      for (const [name] of this.#queues.entries()) {
        const queue = this.#queues.of(name, conversation);
        for (const id of await this.#findJobs(queue, [conversation], ALL)) await queue.remove(id);
        await this.#dueWakes.remove(queue, conversation);
      }
    }
  }

  async #eraseFromInbox(conversations: readonly ConversationRef[], jobs: ErasedJobs): Promise<void> {
    const { connection, prefix } = this.#place;
    const inbox = new Queue(INBOX_QUEUE, {
      connection,
      prefix: queuePrefix(0, prefix),
      skipMetasUpdate: true,
      skipWaitingForReady: true,
      skipVersionCheck: true,
    });
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

  /** Events repeat the id of a job, and what it returned or why it failed. */
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

/** Jobs of the inbox name a conversation by `conversation`, others by `id`. Without a tenant: the default one. */
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

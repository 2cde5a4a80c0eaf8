import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster, Redis } from 'ioredis';
import { isTurnfoldError } from '../../domain/errors.ts';
import { callRedis } from './connection.ts';
import { outageBecause } from './errors.ts';
import { SILENCE_MS } from './open-redis.ts';

/** Resolves with the result of the work, or with `late` after `ms`. The work itself is not stopped. */
export async function inTime<Answer, Late>(work: Promise<Answer>, ms: number, late: Late): Promise<Answer | Late> {
  const ended = new AbortController();
  const lateness = sleep(ms, late, { signal: ended.signal });
  lateness.catch(() => undefined); // aborted below
  try {
    return await Promise.race([work, lateness]);
  } finally {
    ended.abort();
  }
}

export interface MasterAnswers<Answer> {
  readonly answers: readonly Answer[];
  /** Masters that did not answer, as `host:port`. If hash slots have no master, one more text has their number. */
  readonly silent: readonly string[];
}

/** ms to ask one server. All gauges together have two seconds, so one silent server does not hide the others. */
export const MEASURED_MS = 1_000;

type Ask<Answer> = (master: Redis) => Promise<Answer | undefined>;

/**
 * Asks every master in parallel. In a Cluster, `deadlineMs` limits the wait for each.
 * @throws redis_unavailable if the only server is unreachable
 */
export async function askMasters<Answer>(
  redis: Redis,
  ask: Ask<Answer>,
  deadlineMs = SILENCE_MS,
): Promise<MasterAnswers<Answer>> {
  if (!redis.isCluster) {
    const answer = await callRedis(() => ask(redis));
    return { answers: answer === undefined ? [] : [answer], silent: [] };
  }
  const cluster = redis as unknown as Cluster;
  // Until its first command, ioredis treats every node in the URL as a master.
  if (cluster.slots.length === 0) await callRedis(() => cluster.ping());
  const replies = await Promise.all(
    listOwners(cluster).map(async ([node, master]) => {
      const answering = master && callRedis(() => ask(master));
      return { node, ...(answering === undefined ? { isSilent: true } : await answerWithin(answering, deadlineMs)) };
    }),
  );
  const silent = [...replies.flatMap(({ node, isSilent }) => (isSilent ? [node] : [])), ...nameUnowned(cluster)];
  // Makes ioredis look for new masters now, and not only after a command for a lost slot.
  if (silent.length > 0) cluster.refreshSlotsCache();
  return { answers: replies.flatMap(({ answer }) => (answer === undefined ? [] : [answer])), silent };
}

/** @throws redis_unavailable unless every master answers, naming the silent masters */
export async function askAllMasters<Answer>(
  redis: Redis,
  ask: Ask<Answer>,
  deadlineMs?: number,
): Promise<readonly Answer[]> {
  const { answers, silent } = await askMasters(redis, ask, deadlineMs);
  if (silent.length > 0) throw outageBecause(silent.join(', '));
  return answers;
}

/** When the connection to a node ends, ioredis forgets the node but keeps its slots. */
function listOwners(cluster: Cluster): (readonly [node: string, master: Redis | undefined])[] {
  const masters = new Map(cluster.nodes('master').map((master) => [nodeOf(master), master]));
  const owners = new Set(cluster.slots.flatMap(([owner]) => owner ?? []));
  return [...owners].map((node) => [node, masters.get(node)]);
}

const SLOTS = 16_384;

/** A lost master that ioredis knew is listed by its address, because ioredis never forgets the owner of a slot. */
function nameUnowned({ slots }: Cluster): string[] {
  const unowned = SLOTS - slots.filter(([owner]) => owner !== undefined).length;
  return unowned === 0 ? [] : [`${unowned} hash slots without a master`];
}

export function nodeOf({ options: { host, port } }: Redis): string {
  return `${host}:${port}`;
}

/** @throws any failure except those of a late or absent server, for which `isSilent` holds */
export async function answerWithin<Answer>(
  answering: Promise<Answer>,
  deadlineMs: number,
): Promise<{ readonly answer?: Answer; readonly isSilent: boolean }> {
  try {
    const reply = answering.then((answer) => ({ answer, isSilent: false }));
    return await inTime(reply, deadlineMs, { isSilent: true });
  } catch (error) {
    if (isTurnfoldError(error, 'redis_unavailable')) return { isSilent: true };
    throw error;
  }
}

/** Undefined if the command is forbidden. Managed servers hide some commands, and an ACL may forbid any. */
export async function unlessForbidden<Answer>(answer: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof Error && /^(NOPERM|ERR unknown (sub)?command)/i.test(error.message)) return undefined;
    throw error;
  }
}

export function readField(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
}

/** Polynomial of CRC-16/XMODEM, with which Redis Cluster maps keys to slots. */
const POLYNOMIAL = 0x1021;

/** Cluster slot of an ASCII key. The text in the first braces decides. Without braces the whole key decides. */
export function keySlot(key: string): number {
  const [, hashed = key] = /^[^{]*\{([^}]+)\}/.exec(key) ?? [];
  return crc16(Buffer.from(hashed, 'latin1')) % SLOTS;
}

function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = ((crc << 1) ^ (crc & 0x8000 ? POLYNOMIAL : 0)) & 0xffff;
  }
  return crc;
}

/** Number of keys that one command of a search examines, in less than a millisecond. */
const SCAN_COUNT = 1_000;
/** ms for a search through one master of a Cluster, which examines about a million keys per second. */
export const SEARCH_MS = 600_000;

/** Searches the keys of one master. A key that exists during the whole search is found. */
export async function* scanKeys(master: Redis, pattern: string, type?: 'set'): AsyncGenerator<string> {
  let cursor = '0';
  do {
    const from = cursor;
    const [next, keys] = await callRedis(() =>
      type === undefined
        ? master.scan(from, 'MATCH', pattern, 'COUNT', SCAN_COUNT)
        : master.scan(from, 'MATCH', pattern, 'COUNT', SCAN_COUNT, 'TYPE', type),
    );
    yield* keys;
    cursor = next;
  } while (cursor !== '0');
}

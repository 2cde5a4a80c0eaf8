import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster, Redis } from 'ioredis';
import { isTurnfoldError } from '../domain/errors.ts';
import { callRedis } from './connection.ts';
import { outageBecause } from './errors.ts';
import { SILENCE_MS } from './open-redis.ts';

/**
 * Resolves with the result of the work, or with `late` after `ms`. The work continues.
 * @throws errors of the work until then
 */
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
  /** Answers other than undefined. */
  readonly answers: readonly Answer[];
  /**
   * `host:port` of silent masters of a Cluster, and the count of slots without a master. Keys in these slots cannot be reached.
   */
  readonly silent: readonly string[];
}

/** Limit of one question for the gauges, in ms. The gauges have two seconds, so one silent server does not hide the others. */
export const MEASURED_MS = 1_000;

type Ask<Answer> = (master: Redis) => Promise<Answer | undefined>;

/**
 * Asks each server that takes writes, in parallel. `deadlineMs` limits each of several servers.
 * @throws redis_unavailable if the only server is away
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
  // ioredis lists all nodes of the address as masters until the first answer.
  if (cluster.slots.length === 0) await callRedis(() => cluster.exists('{tf}:database'));
  const replies = await Promise.all(
    listOwners(cluster).map(async ([node, master]) => {
      const answering = master && callRedis(() => ask(master));
      return { node, ...(answering === undefined ? { isSilent: true } : await answerWithin(answering, deadlineMs)) };
    }),
  );
  const silent = [...replies.flatMap(({ node, isSilent }) => (isSilent ? [node] : [])), ...nameUnowned(cluster)];
  // ioredis would look for the new master only after a command for the lost slots.
  if (silent.length > 0) cluster.refreshSlotsCache();
  return { answers: replies.flatMap(({ answer }) => (answer === undefined ? [] : [answer])), silent };
}

/**
 * Like `askMasters`, but every server must answer.
 * @throws redis_unavailable, naming the silent servers
 */
export async function askAllMasters<Answer>(
  redis: Redis,
  ask: Ask<Answer>,
  deadlineMs?: number,
): Promise<readonly Answer[]> {
  const { answers, silent } = await askMasters(redis, ask, deadlineMs);
  if (silent.length > 0) throw outageBecause(silent.join(', '));
  return answers;
}

/** Masters that own slots, by `host:port`. ioredis forgets a node, but not its slots, when its connection ends. */
function listOwners(cluster: Cluster): (readonly [node: string, master: Redis | undefined])[] {
  const masters = new Map(cluster.nodes('master').map((master) => [nodeOf(master), master]));
  const owners = new Set(cluster.slots.flatMap(([owner]) => owner ?? []));
  return [...owners].map((node) => [node, masters.get(node)]);
}

const SLOTS = 16_384;

/**
 * Counts the slots without a master, after nodes forgot one. Nodes that knew the master still report it as the owner,
 * because ioredis replaces owners and never forgets one.
 */
function nameUnowned({ slots }: Cluster): string[] {
  const unowned = SLOTS - slots.filter(([owner]) => owner !== undefined).length;
  return unowned === 0 ? [] : [`${unowned} slots without a master`];
}

/** `host:port` of a connection. */
export function nodeOf({ options: { host, port } }: Redis): string {
  return `${host}:${port}`;
}

/**
 * Resolves with the answer, or with `isSilent` if the server is late or away.
 * @throws any other failure
 */
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

/** Returns undefined for a forbidden or unknown command. Managed servers hide some commands, and an ACL may forbid any. */
export async function unlessForbidden<Answer>(answer: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof Error && /^(NOPERM|ERR unknown (sub)?command)/i.test(error.message)) return undefined;
    throw error;
  }
}

/** Reads a field of the answer to INFO. */
export function readField(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
}

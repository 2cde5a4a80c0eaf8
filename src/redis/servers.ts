import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster, Redis } from 'ioredis';
import { isTurnfoldError } from '../domain/errors.ts';
import { callRedis } from './connection.ts';
import { outageBecause } from './errors.ts';
import { SILENCE_MS } from './open-redis.ts';

/** What the work answers, or `late` where that takes longer; the work goes on. @throws what it throws until then */
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

/** What the servers that take writes say. */
export interface MasterAnswers<Answer> {
  /** but of those that answered with undefined */
  readonly answers: readonly Answer[];
  /**
   * `host:port` of a Cluster's masters that have slots and did not answer, and by their number the slots that no master has:
   * who lies there cannot be reached
   */
  readonly silent: readonly string[];
}

/** For a measure: below its two seconds, which would leave out what the others answer. */
export const MEASURED_MS = 1_000;

type Ask<Answer> = (master: Redis) => Promise<Answer | undefined>;

/**
 * Asks each server that takes writes, at once; of several, each has so long to answer.
 * @throws redis_unavailable where it is the only one
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
  // Before it has answered once, all the nodes of its address pass for masters.
  if (cluster.slots.length === 0) await callRedis(() => cluster.exists('{tf}:database'));
  const heard = await Promise.all(
    listOwners(cluster).map(async ([node, master]) => {
      if (master === undefined) return { node, isSilent: true };
      return {
        node,
        ...(await hear(
          callRedis(() => ask(master)),
          deadlineMs,
        )),
      };
    }),
  );
  const silent = [...heard.flatMap(({ node, isSilent }) => (isSilent ? [node] : [])), ...nameUnowned(cluster)];
  // One whose connection has ended is looked for anew only here, where nobody else asks for what lies on it.
  if (silent.length > 0) cluster.refreshSlotsCache();
  return { answers: heard.flatMap(({ answer }) => (answer === undefined ? [] : [answer])), silent };
}

/** As `askMasters`, for who needs all of them. @throws redis_unavailable, naming those that did not answer */
export async function askAllMasters<Answer>(
  redis: Redis,
  ask: Ask<Answer>,
  deadlineMs?: number,
): Promise<readonly Answer[]> {
  const { answers, silent } = await askMasters(redis, ask, deadlineMs);
  if (silent.length > 0) throw outageBecause(silent.join(', '));
  return answers;
}

/** By `host:port`, whoever has slots; ioredis forgets a node, but not its slots, when its connection ends. */
function listOwners(cluster: Cluster): (readonly [node: string, master: Redis | undefined])[] {
  const masters = new Map(cluster.nodes('master').map((master) => [nodeOf(master), master]));
  const owners = new Set(cluster.slots.flatMap(([owner]) => owner ?? []));
  return [...owners].map((node) => [node, masters.get(node)]);
}

const SLOTS = 16_384;

/**
 * Nobody has the slots of a master that the others were told to forget. Who knew it takes it for their owner still: ioredis
 * replaces owners, and forgets none.
 */
function nameUnowned({ slots }: Cluster): string[] {
  const unowned = SLOTS - slots.filter(([owner]) => owner !== undefined).length;
  return unowned === 0 ? [] : [`${unowned} slots without a master`];
}

/** `host:port` of a node. */
export function nodeOf({ options: { host, port } }: Redis): string {
  return `${host}:${port}`;
}

/** What is answered in time; one that is away is silent as well. @throws any other failure */
export async function hear<Answer>(
  asked: Promise<Answer>,
  deadlineMs: number,
): Promise<{ readonly answer?: Answer; readonly isSilent: boolean }> {
  try {
    const heard = asked.then((answer) => ({ answer, isSilent: false }));
    return await inTime(heard, deadlineMs, { isSilent: true });
  } catch (error) {
    if (isTurnfoldError(error, 'redis_unavailable')) return { isSilent: true };
    throw error;
  }
}

/** undefined where the user, or anybody, may not ask it: managed servers hide some commands, an ACL any */
export async function unlessForbidden<Answer>(answer: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof Error && /^(NOPERM|ERR unknown (sub)?command)/i.test(error.message)) return undefined;
    throw error;
  }
}

/** A field of what INFO answers. */
export function readField(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
}

import type { IdSource } from '../../domain/clock.ts';
import type { EventListener } from '../../domain/events.ts';
import { type ConversationRef, nameConversation } from '../../domain/ids.ts';
import type { WakeKind, WakeQueue } from '../../jobs/ports.ts';
import { BEGUN_PRIORITY } from '../../jobs/queues.ts';
import type { DueEntry } from '../../store/due-work.ts';
import type { Sweep } from '../../store/shard-sweeps.ts';
import type { SweepStore } from '../../store/sweep.ts';
import { quarantineCorrupt } from '../quarantine.ts';
import type { Timers } from '../timers.ts';
import { EntryLanes } from './entry-lanes.ts';

/** Maximum erased conversations whose jobs one sweep removes, and that wait for the next sweep after a failure. */
const MAX_EXPIRED = 1_000;

export interface SweeperPorts {
  readonly sweep: SweepStore;
  readonly wakes: WakeQueue;
  readonly ids: IdSource;
  readonly timers: Timers;
  readonly onEvent: EventListener;
}

const BATCH = 100;

export interface Sweeper {
  /**
   * Adds wakes for due work, and erases idle conversations.
   * @returns the number of wakes added
   * @throws the error of a shard that could not be read, after the work of the other shards was handled
   */
  sweepOnce(): Promise<number>;
  /** Ends the leases of a dead worker, and wakes its conversations. @throws as `sweepOnce` */
  endLeases(worker: string): Promise<void>;
  /** @param chores calls that the sweeping process makes twice a second. They must not throw. */
  start(chores?: readonly Chore[]): void;
  /** Resolves when the sweep that runs now has ended. */
  stop(): Promise<void>;
}

/**
 * The sweeper replaces lost wakes: it adds one for each entry of due work without an owner and without a pending wake.
 * It also erases conversations at the end of their idle TTL.
 *
 * Every process runs a sweeper, and only the process with the lease sweeps. A sweep also claims each shard for a
 * second, so that processes sweep no more often while the server of the lease is unreachable.
 */
export function createSweeper(ports: SweeperPorts): Sweeper {
  let shift: ReturnType<typeof beginSweepShift> | undefined;
  let isStopped = false;
  const report = (error: unknown, conversation?: ConversationRef): void => {
    const scope = conversation && nameConversation(conversation);
    // If the worker stopped meanwhile, the failure comes from its closed connection and is not reported.
    if (!isStopped) ports.onEvent({ type: 'worker_failed', where: 'sweeper', ...scope, error });
  };
  /** Never throws: a failed entry must not delay others (I12), because their next due time is up to a minute later. */
  const tryEntry = async (entry: DueEntry): Promise<boolean> => {
    try {
      return await handleEntry(ports, entry, expired);
    } catch (error) {
      report(error, entry.conversation);
      await quarantineCorrupt(ports, entry, error).catch((failure: unknown) => report(failure, entry.conversation));
      return false;
    }
  };
  const expired: ConversationRef[] = [];
  const lanes = new EntryLanes(tryEntry, ports.timers);
  const handleSweep = async ({ due, quarantined: found, failure }: Sweep): Promise<number> => {
    for (const record of found) ports.onEvent({ type: 'record_quarantined', ...record });
    // All wakes come before any erase, because a caller may wait for its turn.
    const woken = await lanes.handleAll(due.filter(({ kind }) => kind !== 'idle'));
    await lanes.handleAll(due.filter(({ kind }) => kind === 'idle'));
    if (expired.length > 0) await eraseJobs(ports.wakes, expired).catch((error: unknown) => report(error));
    if (failure !== undefined) throw failure;
    return woken;
  };
  const sweepDue = async (now: number): Promise<void> => {
    const sweep = async (): Promise<unknown> => handleSweep(await ports.sweep.sweepDue(now, BATCH));
    await sweep().catch((error: unknown) => report(error));
  };
  return {
    async sweepOnce() {
      const shards = Array.from({ length: ports.sweep.shards }, (_, shard) => shard);
      return await handleSweep(await ports.sweep.sweepShards(shards, BATCH));
    },
    async endLeases(worker) {
      await handleSweep(await ports.sweep.lapseLeases(worker));
    },
    start(chores = []) {
      shift = beginSweepShift(ports, { sweep: sweepDue, chores, onFailure: report });
    },
    async stop() {
      isStopped = true;
      await shift?.stop();
    },
  };
}

/** Removes the jobs of erased conversations. After a failure, the next sweep tries again. */
async function eraseJobs(wakes: WakeQueue, expired: ConversationRef[]): Promise<void> {
  const erased = expired.splice(0, MAX_EXPIRED);
  try {
    await wakes.eraseJobs(erased, 'ended');
  } catch (error) {
    expired.unshift(...erased.slice(0, MAX_EXPIRED - expired.length));
    throw error;
  }
}

async function expire({ sweep, ids, onEvent }: SweeperPorts, { conversation }: DueEntry): Promise<boolean> {
  const result = await sweep.expire(conversation, ids.next());
  if (result.status === 'expired') {
    onEvent({ type: 'conversation_expired', ...nameConversation(conversation), removedKeys: result.removedKeys });
  }
  return result.status === 'expired' || result.status === 'resumed';
}

async function handleEntry(ports: SweeperPorts, entry: DueEntry, expired: ConversationRef[]): Promise<boolean> {
  const { conversation } = entry;
  if (entry.kind === 'idle') {
    if (await expire(ports, entry)) expired.push(conversation);
    return false;
  }
  const wake = ports.ids.next();
  if (entry.kind === 'scheduled') {
    const promoted = await ports.sweep.promoteScheduled(conversation, entry.turn ?? '', wake);
    if (promoted.needsWake) await ports.wakes.wake('turn', conversation, wake);
    return promoted.needsWake;
  }
  const kind: WakeKind = entry.kind;
  const decision =
    kind === 'turn' ? await ports.sweep.inspectTurn(conversation) : await ports.sweep.inspectPass(conversation);
  if (decision.status === 'quiet') return false;
  const { recordedWake, hadWorker } = decision;
  if (recordedWake !== undefined && (await ports.wakes.isPending(kind, conversation, recordedWake))) return false;
  if (!(await ports.sweep.recordWake(entry, wake))) return false;
  await ports.wakes.wake(kind, conversation, wake, hadWorker ? { priority: BEGUN_PRIORITY } : {});
  return true;
}

interface SweepShiftPorts {
  readonly sweep: Pick<SweepStore, 'holdSweeping'>;
  readonly ids: IdSource;
  readonly timers: Timers;
}

type Chore = () => Promise<void>;

interface SweepShiftWork {
  /** One sweep. Must not throw. */
  readonly sweep: (now: number) => Promise<void>;
  /** Calls at each beat. A call that still runs is not started again. Must not throw. */
  readonly chores: readonly Chore[];
  /** Called if the lease could not be read. The process then sweeps without the lease. */
  readonly onFailure: (error: unknown) => void;
}

/** ms between two renewals of the lease, and between two attempts to take the lease. */
const BEAT_MS = 500;
const BEATS = 2;
/** ms of the lease. Another process tries within one further beat, so it takes the lease over after at most 1.3 s. */
const LEASE_MS = 800;
/** Beats after which a process whose sweep still runs gives up the lease, because that sweep may never end. */
const MOST_BEATS = 20;

/**
 * Sweeps about once a second in the process with the lease, which is renewed during a sweep. If the lease cannot be
 * read, every process sweeps. The claims of the shards then keep sweeps of a shard a second apart.
 */
function beginSweepShift(
  ports: SweepShiftPorts,
  { sweep, chores, onFailure }: SweepShiftWork,
): { stop(): Promise<void> } {
  const owner = ports.ids.next();
  let beats = 0;
  let isHolder = false;
  let isUnread = false;
  let isStopped = false;
  let sweeping: { readonly done: Promise<void>; readonly since: number } | undefined;
  const running = new Map<Chore, Promise<void>>();
  const beginSweep = (now: number): void => {
    const done = sweep(now).finally(() => {
      sweeping = undefined;
    });
    sweeping = { done, since: beats };
  };
  const beginChore = (chore: Chore): void => {
    if (!running.has(chore))
      running.set(
        chore,
        chore().finally(() => running.delete(chore)),
      );
  };
  const beat = async (): Promise<void> => {
    beats += 1;
    const isStuck = sweeping !== undefined && beats - sweeping.since > MOST_BEATS;
    // Reading the lease takes about a beat to fail, so each beat may sweep while the lease cannot be read.
    const isTime = isUnread || beats % BEATS === 0;
    if (isStuck) return;
    const now = await ports.sweep.holdSweeping(owner, LEASE_MS).catch((error: unknown) => {
      onFailure(error);
      return Number.POSITIVE_INFINITY;
    });
    isUnread = now === Number.POSITIVE_INFINITY;
    isHolder = now !== undefined && !isUnread;
    if (isStopped) return;
    if (isHolder) for (const chore of chores) beginChore(chore);
    if (now !== undefined && isTime && sweeping === undefined) beginSweep(now);
  };
  let beating = Promise.resolve();
  const heartbeat = ports.timers.every(BEAT_MS, async () => {
    beating = beat();
    await beating;
  });
  return {
    async stop() {
      isStopped = true;
      heartbeat.stop();
      await beating;
      await Promise.all([sweeping?.done, ...running.values()]);
      await ports.sweep.holdSweeping(owner, 0).catch(() => undefined);
    },
  };
}

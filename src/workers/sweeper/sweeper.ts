import type { EventListener } from '../../domain/events.ts';
import { type ConversationRef, nameConversation } from '../../domain/ids.ts';
import type { IdSource } from '../../domain/ports/clock.ts';
import type { WakeKind, WakeQueue } from '../../domain/ports/queue.ts';
import type { DueEntry, Sweep, SweepStore } from '../../domain/ports/sweep-store.ts';
import { quarantineCorrupt } from '../quarantine.ts';
import type { Timers } from '../timers.ts';
import { EntryLanes } from './entry-lanes.ts';

export interface SweeperPorts {
  readonly sweep: SweepStore;
  readonly wakes: WakeQueue;
  readonly ids: IdSource;
  readonly timers: Timers;
  readonly onEvent: EventListener;
}

/** Pause between two renewals of the lease, in ms. */
const BEAT_MS = 500;
/** The worker with the lease sweeps at each second beat, and the others ask for it then: about once a second. */
const BEATS = 2;
/** Duration of the lease in ms. With the second until another worker asks, it makes 2 s for a takeover from a dead one. */
const LEASE_MS = 1_000;
/** Number of entries of due work that are read from one shard at a time. */
const BATCH = 100;

export interface Sweeper {
  /**
   * Sweeps every shard once: adds wake jobs for due work, and erases idle conversations.
   * @returns the number of wake jobs added
   * @throws the error of a shard that could not be read, after the due work of the other shards was handled
   */
  sweepOnce(): Promise<number>;
  start(): void;
  /** Starts no further sweep. Resolves when the sweep that runs now has ended. */
  stop(): Promise<void>;
}

/**
 * Creates the sweeper, which replaces lost wakes. The sweeper reads the list of due work, and adds a wake for each
 * entry that has no owner and no pending wake. The sweeper also erases conversations at the end of their idle TTL.
 * Every process runs a sweeper, of which the one with the lease sweeps. A sweep also claims each shard for a second, so that
 * workers sweep no more often while the server of the lease is away.
 */
export function createSweeper(ports: SweeperPorts): Sweeper {
  let end = async (): Promise<void> => undefined;
  let isStopped = false;
  let sweeping: Promise<unknown> = Promise.resolve();
  const report = (error: unknown, conversation?: ConversationRef): void => {
    const scope = conversation && nameConversation(conversation);
    // If the worker stopped during the sweep, its closed connection is no failure.
    if (!isStopped) ports.onEvent({ type: 'worker_failed', where: 'sweeper', ...scope, error });
  };
  const setAside = async (entry: DueEntry, why: unknown): Promise<void> => {
    try {
      await quarantineCorrupt(ports, entry, why);
    } catch (error) {
      report(error, entry.conversation);
    }
  };
  /**
   * Handles one entry of due work. A failed entry must not delay other entries (invariant I12), because their next due
   * time is already up to a minute later.
   */
  const tryEntry = async (entry: DueEntry): Promise<boolean> => {
    try {
      return await handleEntry(ports, entry);
    } catch (error) {
      report(error, entry.conversation);
      await setAside(entry, error);
      return false;
    }
  };
  const lanes = new EntryLanes(tryEntry, ports.timers);
  const handleSweep = async ({ due, quarantined: found, failure }: Sweep): Promise<number> => {
    for (const record of found) ports.onEvent({ type: 'record_quarantined', ...record });
    // All wakes are added before any conversation is erased, because a caller may wait for its turn.
    const woken = await lanes.handleAll(due.filter(({ kind }) => kind !== 'idle'));
    await lanes.handleAll(due.filter(({ kind }) => kind === 'idle'));
    if (failure !== undefined) throw failure;
    return woken;
  };
  let beats = 0;
  let isHolder = false;
  const beat = async (owner: string): Promise<void> => {
    beats += 1;
    const isSecond = beats % BEATS === 0;
    if (!isHolder && !isSecond) return;
    const now = await ports.sweep.holdSweeping(owner, LEASE_MS);
    isHolder = now !== undefined;
    if (now === undefined || isStopped || !isSecond) return;
    await handleSweep(await ports.sweep.sweepDue(now, BATCH));
  };
  return {
    async sweepOnce() {
      const shards = Array.from({ length: ports.sweep.shards }, (_, shard) => shard);
      return await handleSweep(await ports.sweep.sweepShards(shards, BATCH));
    },
    start() {
      const owner = ports.ids.next();
      const repeated = ports.timers.every(BEAT_MS, async () => {
        sweeping = beat(owner).catch((error: unknown) => report(error));
        await sweeping;
      });
      end = async () => {
        repeated.stop();
        await sweeping;
        await ports.sweep.holdSweeping(owner, 0).catch(() => undefined);
      };
    },
    async stop() {
      isStopped = true;
      await end();
    },
  };
}

async function handleEntry(ports: SweeperPorts, entry: DueEntry): Promise<boolean> {
  const { conversation } = entry;
  if (entry.kind === 'idle') {
    const expired = await ports.sweep.expire(conversation, ports.ids.next());
    if (expired.status === 'expired') {
      ports.onEvent({
        type: 'conversation_expired',
        ...nameConversation(conversation),
        removedKeys: expired.removedKeys,
      });
    }
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
  const { recordedWake } = decision;
  if (recordedWake !== undefined && (await ports.wakes.isPending(kind, conversation, recordedWake))) return false;
  if (!(await ports.sweep.recordWake(entry, wake))) return false;
  await ports.wakes.wake(kind, conversation, wake);
  return true;
}

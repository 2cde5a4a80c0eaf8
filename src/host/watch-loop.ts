import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { EventListener } from '../domain/events.ts';
import type { Closers } from './closers.ts';
import { EventLoopMonitor } from './health/event-loop-monitor.ts';
import type { LeaseThreadData } from './lease-thread.ts';
import type { WorkersSettings } from './workers-options.ts';

const ENTRY = new URL(`./lease-thread${extname(import.meta.url)}`, import.meta.url);

interface LoopWatchOptions {
  readonly settings: Pick<WorkersSettings, 'redisUrl' | 'redisTls' | 'prefix' | 'shards' | 'blockedMs'>;
  readonly onEvent: EventListener;
  readonly closers?: Closers;
}

/** Starts the thread that renews the leases of a blocked worker. With `blockedMs` 0, a block costs the leases. */
export function watchLoop(
  { settings, onEvent, closers }: LoopWatchOptions,
  holder: Pick<LeaseThreadData, 'worker' | 'owner'>,
): EventLoopMonitor {
  const { redisUrl: url, redisTls: tls, prefix, shards, blockedMs } = settings;
  const loop = new EventLoopMonitor((block) => onEvent({ type: 'event_loop_blocked', ...block }));
  closers?.add(async () => loop.stop());
  if (blockedMs === 0) return loop;
  const workerData: LeaseThreadData = { url, tls, prefix, shards, blockedMs, ...holder, memory: loop.beat.memory };
  // The thread must not load modules that the worker preloads, such as an OpenTelemetry SDK.
  const thread = new Worker(ENTRY, { workerData, execArgv: [], env: {} });
  thread.unref();
  const fail = (error: unknown): void => onEvent({ type: 'worker_failed', where: 'lease_thread', error });
  thread.on('message', fail);
  thread.on('error', fail);
  closers?.add(async () => void (await thread.terminate()));
  return loop;
}

/*
 * A synchronous tool blocks the event loop of its worker. Without its heartbeats, its leases would lapse after 8 s,
 * and other workers would run all its turns again. So `watch-loop.ts` starts this thread beside the event loop.
 *
 * - The event loop writes the time into shared memory, four times a second (`LoopBeat`).
 * - When that time is 2 s old, the thread connects to Redis. Every 2 s it extends every lease of its worker.
 * - After `blockedMs` the thread stops, because the process may never come back. The leases then lapse.
 *
 * The thread takes about 20 MB of memory. It loads its modules and connects only when the event loop is blocked,
 * because most processes never block. In a frozen or dead process the thread does not run, so the leases lapse as
 * usual.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import type { connectHeldLeases, HeldLeasesOptions } from '../store/held-leases.ts';
import { LoopBeat } from './health/loop-beat.ts';

export interface LeaseThreadData extends HeldLeasesOptions {
  readonly memory: SharedArrayBuffer;
  readonly blockedMs: number;
}

const CHECK_MS = 500;
/** ms without a sign of the event loop, after which the thread extends leases. A lease then has 4 s or more left. */
const SILENT_MS = 2_000;
/** ms between two extensions, the same as between heartbeats of a lease. */
const EXTEND_MS = 2_000;

class BlockedWorker {
  readonly #data: LeaseThreadData;
  readonly #beat: LoopBeat;
  #held: ReturnType<typeof connectHeldLeases> | undefined;
  #hasKeptCause = false;

  constructor(data: LeaseThreadData) {
    this.#data = data;
    this.#beat = new LoopBeat(data.memory);
  }

  /** @returns ms until the next check */
  async check(): Promise<number> {
    if (this.#beat.silentMs < SILENT_MS) {
      this.#held?.close();
      this.#held = undefined;
      this.#hasKeptCause = false;
      return CHECK_MS;
    }
    if (this.#hasKeptCause) return CHECK_MS;
    if (this.#held === undefined) {
      const leases = await import('../store/held-leases.ts');
      this.#held = leases.connectHeldLeases(this.#data);
    }
    if (this.#beat.silentMs < this.#data.blockedMs) {
      await this.#held.extend();
      return EXTEND_MS;
    }
    this.#hasKeptCause = true;
    const seconds = Math.round(this.#data.blockedMs / 1_000);
    await this.#held.keepCause(`Its event loop was blocked for more than ${seconds} s ${this.#beat.cause}`.trimEnd());
    return CHECK_MS;
  }
}

const worker = new BlockedWorker(workerData as LeaseThreadData);
for (;;) {
  const pauseMs = await worker.check().catch((error: unknown) => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port of Node.js has no origin
    parentPort?.postMessage(error);
    return EXTEND_MS;
  });
  await sleep(pauseMs);
}

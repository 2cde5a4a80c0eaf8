// Entry point of the thread that `watch-loop.ts` starts. While the event loop of a worker is blocked, the worker cannot
// renew its leases, and other workers would run its turns a second time. So this thread renews them. It loads its
// modules and connects to Redis only for a block, because most processes never have one.
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import type { connectHeldLeases, HeldLeasesOptions } from '../store/held-leases.ts';
import { LoopBeat } from './health/loop-beat.ts';

export interface LeaseThreadData extends HeldLeasesOptions {
  readonly memory: SharedArrayBuffer;
  readonly blockedMs: number;
}

const CHECK_MS = 500;
/** A lease has 4 s left then, or more. */
const SILENT_MS = 2_000;
/** As often as the heartbeats of a lease. */
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

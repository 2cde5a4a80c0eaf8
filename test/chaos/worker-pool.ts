import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { WorkerRole } from '../../src/host/start-workers.ts';
import type { WorkerReport, WorkerReports } from './worker-reports.ts';

export interface WorkerPoolOptions {
  readonly size: number;
  readonly redisUrl: string;
  readonly providerUrl: string;
  readonly shards: number;
  readonly reports: WorkerReports;
}

interface Worker {
  /** Unique in the run. */
  readonly number: number;
  readonly roles: readonly WorkerRole[];
  readonly process: ChildProcess;
  /** Resolves once the process has ended and its output has been read. */
  readonly closed: Promise<unknown>;
  /** The pool has killed the process. */
  isDoomed: boolean;
}

/** Roles by place. Further places repeat the list. */
const ROLES: readonly (readonly WorkerRole[])[] = [
  ['turn', 'compaction', 'summarization'],
  ['turn'],
  ['turn', 'compaction'],
  ['compaction', 'summarization'],
];
const SCRIPT = fileURLToPath(new URL('worker-process.ts', import.meta.url));
const KEPT_ERROR_CHARS = 400;

/** Worker processes that can be killed and frozen. A new process replaces each dead one. */
export class WorkerPool {
  /** Output of workers that ended by themselves. */
  readonly crashes: string[] = [];
  readonly #options: WorkerPoolOptions;
  readonly #workers: Worker[] = [];
  #started = 0;
  #isOver = false;

  private constructor(options: WorkerPoolOptions) {
    this.#options = options;
  }

  static async start(options: WorkerPoolOptions): Promise<WorkerPool> {
    const pool = new WorkerPool(options);
    await Promise.all(Array.from({ length: options.size }, (_, place) => pool.#fill(place)));
    return pool;
  }

  get size(): number {
    return this.#workers.length;
  }

  /** Resolves once the replacement has started. */
  async kill(place: number): Promise<void> {
    const worker = this.#workers[place] as Worker;
    worker.isDoomed = true;
    const at = Date.now();
    worker.process.kill('SIGKILL');
    await worker.closed;
    this.#options.reports.noteDeath(worker.number, at);
    await this.#fill(place);
  }

  /** A frozen process keeps its connections. Other workers take its turns once its leases lapse. */
  async freeze(place: number, forMs: number): Promise<void> {
    const worker = this.#workers[place] as Worker;
    worker.process.kill('SIGSTOP');
    await sleep(forMs);
    worker.process.kill('SIGCONT');
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    for (const { process } of this.#workers) process.kill('SIGKILL');
    await Promise.all(this.#workers.map(({ closed }) => closed));
  }

  /** Repeats the start, because a worker ends by itself if Redis is away during the start. */
  async #fill(place: number): Promise<void> {
    while (!this.#isOver) {
      if (await this.#spawn(place)) return;
      await sleep(200);
    }
  }

  async #spawn(place: number): Promise<boolean> {
    const { redisUrl, providerUrl, shards, reports, size } = this.#options;
    const roles = ROLES[size === 1 ? 0 : place % ROLES.length] as readonly WorkerRole[];
    this.#started += 1;
    const args = [SCRIPT, redisUrl, providerUrl, String(shards), roles.join(','), String(this.#started)];
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    const worker: Worker = {
      number: this.#started,
      roles,
      process: child,
      closed: once(child, 'close'),
      isDoomed: false,
    };
    this.#workers[place] = worker;
    let error = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      error = (error + text).slice(-KEPT_ERROR_CHARS);
    });
    const started = Promise.withResolvers<boolean>();
    let hasStarted = false;
    createInterface(child.stdout).on('line', (line) => {
      const report = JSON.parse(line) as WorkerReport;
      reports.add(worker.number, report);
      if (report.type !== 'started') return;
      hasStarted = true;
      started.resolve(true);
    });
    child.once('close', (code, signal) => {
      started.resolve(false);
      if (!hasStarted || worker.isDoomed || this.#isOver) return;
      this.crashes.push(`${roles.join(' ')} ended with ${signal ?? code}: ${error.trim()}`);
      reports.noteDeath(worker.number, Date.now());
      void this.#fill(place);
    });
    return await started.promise;
  }
}

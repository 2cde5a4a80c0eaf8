import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { WorkerRole } from '../../src/runtime/start-workers.ts';
import type { Telling, Tellings } from './tellings.ts';

export interface CrewOptions {
  readonly size: number;
  readonly redisUrl: string;
  readonly providerUrl: string;
  readonly shards: number;
  readonly tellings: Tellings;
  /** folder of the tree whose code they run: this one, or a copy with a mutation */
  readonly root?: string | undefined;
}

interface Worker {
  /** a new one's is another */
  readonly number: number;
  readonly roles: readonly WorkerRole[];
  readonly process: ChildProcess;
  /** the process has ended and its last word is heard */
  readonly closed: Promise<unknown>;
  /** told to die by us */
  isDoomed: boolean;
}

/** In turn: one of all roles, others of some. */
const ROLES: readonly (readonly WorkerRole[])[] = [
  ['turn', 'compaction', 'summarization'],
  ['turn'],
  ['turn', 'compaction'],
  ['compaction', 'summarization'],
];
const KEPT_ERROR_CHARS = 400;

/** Worker processes, of which one or the other is killed or frozen; a new one takes the place of a dead one. */
export class Crew {
  /** last words of workers that ended without being told to */
  readonly crashes: string[] = [];
  readonly #options: CrewOptions;
  readonly #script: string;
  readonly #workers: Worker[] = [];
  #started = 0;
  #isOver = false;

  private constructor(options: CrewOptions) {
    this.#options = options;
    const root = options.root ?? fileURLToPath(new URL('../..', import.meta.url));
    this.#script = `${root}/test/chaos/worker-process.ts`;
  }

  static async start(options: CrewOptions): Promise<Crew> {
    const crew = new Crew(options);
    const places = Array.from({ length: options.size }, (_, place) => place);
    await Promise.all(places.map((place) => crew.#fill(place)));
    return crew;
  }

  get size(): number {
    return this.#workers.length;
  }

  /** @returns once another has started in its place */
  async kill(place: number): Promise<void> {
    const worker = this.#workers[place] as Worker;
    worker.isDoomed = true;
    const at = Date.now();
    worker.process.kill('SIGKILL');
    await worker.closed;
    this.#options.tellings.noteDeath(worker.number, at);
    await this.#fill(place);
  }

  /** A frozen process keeps its connections and hears nothing: others take what its leases held. */
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

  /** A worker that finds no Redis while it starts ends by itself: then another is started. */
  async #fill(place: number): Promise<void> {
    while (!this.#isOver) {
      if (await this.#spawn(place)) return;
      await sleep(200);
    }
  }

  async #spawn(place: number): Promise<boolean> {
    const { redisUrl, providerUrl, shards, tellings, size } = this.#options;
    const roles = ROLES[size === 1 ? 0 : place % ROLES.length] as readonly WorkerRole[];
    const args = [this.#script, redisUrl, providerUrl, String(shards), roles.join(',')];
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    this.#started += 1;
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
      const telling = JSON.parse(line) as Telling;
      tellings.hear(worker.number, telling);
      if (telling.type !== 'started') return;
      hasStarted = true;
      started.resolve(true);
    });
    child.once('close', (code, signal) => {
      started.resolve(false);
      if (!hasStarted || worker.isDoomed || this.#isOver) return;
      this.crashes.push(`${roles.join(' ')} ended with ${signal ?? code}: ${error.trim()}`);
      tellings.noteDeath(worker.number, Date.now());
      void this.#fill(place);
    });
    return await started.promise;
  }
}

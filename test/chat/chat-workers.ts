import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Random } from '../setup/random.ts';
import { bundleWorker, type WorkerBundle } from './worker-bundle.ts';

/** Worker processes, each of which is replaced when it is killed. */
export class ChatWorkers {
  readonly #redisUrl: string;
  readonly #bundle: WorkerBundle;
  readonly #processes: ChildProcess[] = [];
  /** Processes that have started to work. */
  readonly #ready = new Set<ChildProcess>();
  #isOver = false;
  kills = 0;

  private constructor(redisUrl: string, bundle: WorkerBundle) {
    this.#redisUrl = redisUrl;
    this.#bundle = bundle;
  }

  static async start(redisUrl: string, size: number): Promise<ChatWorkers> {
    const workers = new ChatWorkers(redisUrl, await bundleWorker());
    for (let place = 0; place < size; place += 1) {
      workers.#spawn(place);
      // The first worker stores its compiled code for the others.
      if (place === 0) await workers.#started();
    }
    await workers.#started();
    return workers;
  }

  /** Kills one of the workers that have started, but never the last. Another worker starts in its place. */
  kill(random: Random): void {
    if (this.#ready.size < 2) return;
    this.kills += 1;
    random.pick([...this.#ready]).kill('SIGKILL');
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    const running = this.#processes.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
    const ended = running.map((process) => once(process, 'exit'));
    for (const process of running) process.kill('SIGKILL');
    await Promise.all(ended);
    await this.#bundle.remove();
  }

  async #started(): Promise<void> {
    const starting = this.#processes.filter((process) => !this.#ready.has(process));
    await Promise.all(starting.map(async ({ stdout }) => stdout && (await once(stdout, 'data'))));
  }

  #spawn(place: number): void {
    const { script, codeFolder } = this.#bundle;
    const child = spawn(process.execPath, [script, this.#redisUrl], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, NODE_COMPILE_CACHE: codeFolder },
    });
    this.#processes[place] = child;
    child.stdout.once('data', () => this.#ready.add(child));
    // A worker also ends by itself if Redis is away while the worker starts.
    child.once('exit', () => {
      this.#ready.delete(child);
      if (!this.#isOver) this.#spawn(place);
    });
  }
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ProcessReport, Said } from './scaling-process.ts';

/** A process that runs scaling-process.ts. It is killed when the benchmark process ends. */
export class BenchProcess implements AsyncDisposable {
  /** URL of the process, if it is a provider or a server. */
  readonly url: string;
  readonly #process: ChildProcess;
  #cpuMs = 0;

  private constructor(child: ChildProcess, url: string) {
    this.#process = child;
    this.url = url;
  }

  /** Starts the process. Rejects if it exits before it reports that it is ready. */
  static async start(args: readonly string[]): Promise<BenchProcess> {
    const script = fileURLToPath(new URL('./scaling-process.ts', import.meta.url));
    const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    const ended = once(child, 'exit').then(([code]) => {
      throw new Error(`the process ${args[0]} exited with code ${code} before it was ready`);
    });
    const [said] = (await Promise.race([once(child, 'message'), ended])) as [Said];
    ended.catch(() => undefined);
    return new BenchProcess(child, ('url' in said ? said.url : undefined) ?? '');
  }

  /** Returns the CPU time in ms that the process used since the last call. */
  async readCpuMs(): Promise<number> {
    return (await this.read()).cpuMs;
  }

  /** Returns the report of the process, with the CPU time that it used since the last call. */
  async read(): Promise<ProcessReport> {
    const answered = once(this.#process, 'message');
    this.#process.send('report');
    const [report] = (await answered) as [ProcessReport];
    const cpuMs = report.cpuMs - this.#cpuMs;
    this.#cpuMs = report.cpuMs;
    return { ...report, cpuMs };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#process, 'exit');
    // The process exits then, so that `NODE_OPTIONS=--cpu-prof` writes its profile.
    this.#process.disconnect();
    await ended;
  }
}

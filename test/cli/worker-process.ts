import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { startTurnfold } from './run-turnfold.ts';

/** Module with the built-in agent `workspace`. */
export const AGENTS = fileURLToPath(new URL('../setup/workspace-agents.ts', import.meta.url));

export type LogLine = Readonly<Record<string, unknown>>;

/** `turnfold worker` as a process of its own, killed at the end of the test. */
export interface WorkerProcess {
  readonly process: ChildProcess;
  /** Log lines so far. */
  readonly lines: readonly LogLine[];
  /** Waits for a log line that contains a text. */
  readonly untilLogged: (text: string) => Promise<LogLine>;
  /** Waits for the exit and the last log line. @returns the exit code */
  readonly untilExit: () => Promise<number | null>;
  /** Sends SIGTERM and waits for the exit. @returns the exit code */
  readonly stop: () => Promise<number | null>;
}

export function startWorkerProcess(
  env: Readonly<Record<string, string>>,
  agents = AGENTS,
  ...args: string[]
): WorkerProcess {
  const worker = startTurnfold(['worker', '--agents', agents, ...args], env);
  if (worker.stdout === null) throw new Error('the output of the worker is not piped');
  const lines: LogLine[] = [];
  const exited = once(worker, 'close');
  createInterface({ input: worker.stdout }).on('line', (line) => lines.push(JSON.parse(line) as LogLine));
  const find = (text: string): LogLine | undefined => lines.find((line) => JSON.stringify(line).includes(text));
  const untilExit = async (): Promise<number | null> => {
    await exited;
    return worker.exitCode;
  };
  return {
    process: worker,
    lines,
    async untilLogged(text) {
      await expect.poll(() => find(text), { timeout: 60_000, interval: 20 }).toBeDefined();
      return find(text) ?? {};
    },
    untilExit,
    stop() {
      worker.kill('SIGTERM');
      return untilExit();
    },
  };
}

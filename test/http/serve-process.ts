import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { beforeEnd, startTurnfold } from '../cli/run-turnfold.ts';

export interface ServeProcess {
  readonly process: ChildProcess;
  readonly url: string;
  /** URL of the metrics page. */
  readonly metrics: string;
  /** Message of the log line that reports the start. */
  readonly msg: string;
}

/** Starts `turnfold serve` as a process. It is killed at the end of the test. */
export async function startServe(env: Readonly<Record<string, string>>, ...args: string[]): Promise<ServeProcess> {
  const server = startTurnfold(['serve', '--port', '0', '--metrics-port', '0', ...args], env);
  if (server.stdout === null) throw new Error('the output of the server is not piped');
  const started = Promise.withResolvers<Omit<ServeProcess, 'process'>>();
  createInterface({ input: server.stdout }).on('line', (line) => {
    const logged = JSON.parse(line) as Partial<ServeProcess>;
    if (logged.url !== undefined) started.resolve(logged as ServeProcess);
  });
  return { ...(await beforeEnd(server, started.promise)), process: server };
}

/** Reads one value of a metrics page. */
export async function readMetric(url: string, name: string): Promise<number> {
  const page = await (await fetch(url)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(page)?.[1]);
}

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

const ENTRY = new URL('./worker.ts', import.meta.url);

export interface BuildWorkers {
  readonly process: ChildProcess;
  /** Events about records that the workers could not read. */
  readonly corrupt: readonly string[];
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** Starts workers of a build in a process of their own. */
export async function startBuildWorkers(
  url: string,
  modules: readonly string[],
  holding: 'hold' | 'answer' = 'answer',
): Promise<BuildWorkers> {
  const child = fork(ENTRY, [url, holding, ...modules], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const corrupt: string[] = [];
  const exited = once(child, 'exit');
  child.on('message', (message: { corrupt?: string }) => {
    if (message.corrupt !== undefined) corrupt.push(message.corrupt);
  });
  await Promise.race([
    once(child, 'message'),
    exited.then(() => {
      throw new Error('the workers of a build did not start');
    }),
  ]);
  return {
    process: child,
    corrupt,
    async stop(signal = 'SIGTERM') {
      child.kill(signal);
      await exited;
    },
  };
}

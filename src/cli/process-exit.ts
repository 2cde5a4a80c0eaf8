import type { Output } from './output.ts';

interface AgentsModule {
  readonly path: string;
  readonly isUsable: boolean;
}

let loaded: AgentsModule | undefined;

/** Records that an agents module was loaded. The module may leave timers, servers or open promises behind. */
export function recordAgentsModule(path: string, isUsable: boolean): void {
  loaded = { path, isUsable };
}

const GRACE_MS = 200;

/** Ends the process even if the agents module keeps the event loop alive. */
export function exitAfterCommand(output: Output): void {
  if (loaded === undefined) return;
  const { path, isUsable } = loaded;
  // After a failed command, a message about open timers would only distract.
  if (!isUsable || process.exitCode !== 0) process.exit();
  const end = (): void => {
    output.note(`turnfold: ${path} left a timer, server or connection open. The process was stopped.`);
    process.exit();
  };
  // The timer itself does not keep the process alive. So if the timer fires, the agents module keeps the process alive.
  setTimeout(end, GRACE_MS).unref();
}

import type { Output } from './output.ts';

interface AgentsModule {
  readonly path: string;
  readonly isUsable: boolean;
}

let loaded: AgentsModule | undefined;

/** Remembers the path of the user's agents module, which may leave timers, servers or open promises behind. */
export function recordAgentsModule(path: string, isUsable: boolean): void {
  loaded = { path, isUsable };
}

/** Time in ms in which a command closes its own connections. */
const GRACE_MS = 200;

/** Ends the process after its command, even if the agents module keeps the event loop alive. */
export function exitAfterCommand(output: Output): void {
  if (loaded === undefined) return;
  const { path, isUsable } = loaded;
  // After a failed command, the process ends at once, without the message about open timers and servers.
  if (!isUsable || process.exitCode !== 0) process.exit();
  const end = (): void => {
    output.note(`turnfold: ${path} left a timer, server or connection open. The process was stopped.`);
    process.exit();
  };
  // This timer does not keep the process alive. So the timer fires only if something in the agents module keeps the
  // process alive.
  setTimeout(end, GRACE_MS).unref();
}

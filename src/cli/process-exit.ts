import type { Output } from './output.ts';

interface AgentsModule {
  readonly path: string;
  readonly isUsable: boolean;
}

let loaded: AgentsModule | undefined;

/** Records the user's agents module, which may leave timers, servers or open promises behind. */
export function recordAgentsModule(path: string, isUsable: boolean): void {
  loaded = { path, isUsable };
}

/** A command closes its own connections within this time. */
const GRACE_MS = 200;

/** Ends the process after its command, even if an agents module keeps the event loop alive. */
export function exitAfterCommand(output: Output): void {
  if (loaded === undefined) return;
  const { path, isUsable } = loaded;
  // The command has reported its error already.
  if (!isUsable || process.exitCode !== 0) process.exit();
  const end = (): void => {
    output.note(`turnfold: ${path} left a timer, server or connection open. The process was stopped.`);
    process.exit();
  };
  // The timer is unreferenced, so it fires only if a handle of the module keeps the process alive.
  setTimeout(end, GRACE_MS).unref();
}

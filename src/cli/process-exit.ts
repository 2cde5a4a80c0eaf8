import type { Output } from './output.ts';

/** The module that this process has loaded for its command. */
interface LoadedFile {
  readonly path: string;
  readonly isUsable: boolean;
}

let loaded: LoadedFile | undefined;

/** Remembers a module of a user: it may have left timers, servers or a promise that never settles. */
export function rememberLoaded(path: string, isUsable: boolean): void {
  loaded = { path, isUsable };
}

/** After this time nothing of ours is open any more. */
const GRACE_MS = 200;

/**
 * Ends the process behind its command, also where a loaded module keeps the event loop alive. The exit code is set already.
 */
export function endBehindLoaded(output: Output): void {
  if (loaded === undefined) return;
  const { path, isUsable } = loaded;
  // Its command has said what is wrong.
  if (!isUsable || process.exitCode !== 0) process.exit();
  const end = (): void => {
    output.note(`turnfold: ${path} keeps the process running (an open timer, server or connection); stopped`);
    process.exit();
  };
  // Fires only where something else keeps the process.
  setTimeout(end, GRACE_MS).unref();
}

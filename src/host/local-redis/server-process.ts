import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';

/**
 * Owns a server process and its folder, and ties both to the life of this process.
 *
 * A shell supervises the server. Its stdin is a pipe of this process, which the kernel closes however this process ends,
 * SIGKILL included. Then `read` returns, and the shell stops the server and removes the folder.
 *
 * Guarantees, unless the shell itself gets a SIGKILL:
 * 1. The server outlives this process by at most GRACE_SECONDS, and its folder is removed.
 * 2. Only the shell's own child is signalled, so the pid cannot belong to another process.
 * 3. When `stop` returns, process and folder are gone.
 *
 * The trap comes after the start, because a server would inherit the ignored SIGTERM and wait for the SIGKILL (3.0 s).
 *
 * Rejected: `setpriv --pdeathsig` is Linux only and follows a thread. A Node watchdog costs 40 MB instead of 1.7 MB. A pid
 * file may name another process by the next start.
 */
const SUPERVISOR = [
  'folder=$1 grace=$2',
  'shift 2',
  '"$@" 2>&1 &',
  'server=$!',
  "trap '' HUP INT TERM",
  'exec >/dev/null 2>&1',
  'read -r _',
  'kill -TERM "$server"',
  '(',
  'sleep "$grace"',
  'kill -KILL "$server"',
  ') &',
  'watch=$!',
  'wait "$server"',
  'kill -KILL "$watch"',
  'rm -rf "$folder"',
].join('\n');

/** Seconds from SIGTERM to SIGKILL, for a server that is busy or frozen. */
const GRACE_SECONDS = 3;
const KEPT_OUTPUT_CHARS = 4_000;

interface ServerCommand {
  readonly binary: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly folder: string;
}

export interface ServerProcess {
  /** Aborts when the server has ended, for any reason. */
  readonly ended: AbortSignal;
  lastOutput(): string;
  stop(): Promise<void>;
}

export function launchServer({ binary, args, env, folder }: ServerCommand): ServerProcess {
  const shellArgs = ['-c', SUPERVISOR, 'turnfold-redis', folder, String(GRACE_SECONDS), binary, ...args];
  // Detached, so that Ctrl-C reaches only this process, which can then finish while Redis still runs.
  const supervisor = spawn('/bin/sh', shellArgs, { env, detached: true, stdio: ['pipe', 'pipe', 'ignore'] });
  const exited = Promise.race([once(supervisor, 'exit'), once(supervisor, 'close')]);
  const ended = new AbortController();
  let output = '';
  supervisor.stdout.setEncoding('utf8').on('data', (text: string) => {
    output = (output + text).slice(-KEPT_OUTPUT_CHARS);
  });
  // Only the server holds the other end of this pipe, so the pipe closes when the server ends.
  supervisor.stdout.once('close', () => {
    ended.abort();
    supervisor.stdin.end();
  });
  supervisor.stdin.on('error', () => undefined); // EPIPE, if the shell has ended already.
  exited.catch((error: Error) => {
    output += error.message; // This machine has no /bin/sh.
  });
  // A caller that forgets `stop` must still be able to exit.
  supervisor.unref();
  (supervisor.stdin as Socket).unref();
  (supervisor.stdout as Socket).unref();
  return {
    ended: ended.signal,
    lastOutput: () => output.trim().split('\n').slice(-4).join(' | '),
    async stop() {
      supervisor.ref();
      supervisor.stdin.end();
      await exited.catch(() => undefined);
    },
  };
}

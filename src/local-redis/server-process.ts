import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';

/**
 * Owns a server process and its folder, and ties both to the life of this process.
 *
 * Between us and the server stands a shell whose stdin is a pipe that only we hold. However we end, by return, signal
 * or SIGKILL, the kernel closes the pipe; `read` returns, and the shell ends the server and removes the folder. So no
 * signal handler and no exit hook is needed here, and none could see a SIGKILL.
 *
 * Guarantees, unless somebody kills the shell itself with SIGKILL: (1) the server outlives us by GRACE_SECONDS at most,
 * and its folder goes with it; (2) only the shell's own child is signalled, and at once when we end or it ends, so the
 * pid is not another's; (3) when `stop` returns, process and folder are gone.
 *
 * The trap stands behind the start, because an ignored SIGTERM would be inherited: a server that is told to stop while
 * it starts would be deaf to it and wait for the SIGKILL (seen: 3.0 s).
 *
 * Roads not taken: `setpriv --pdeathsig` is Linux only and follows the thread that spawned; a second Node process as
 * a watchdog costs 40 MB where the shell takes 1.7; a pid file read by the next start kills whoever has that pid then.
 */
const SUPERVISOR = `
folder=$1 grace=$2; shift 2
"$@" 2>&1 &
server=$!
trap '' HUP INT TERM
exec >/dev/null 2>&1
read -r _
kill -TERM "$server"
(sleep "$grace"; kill -KILL "$server") &
watch=$!
wait "$server"
kill -KILL "$watch"
rm -rf "$folder"
`;

/** For a server that is busy in a script or frozen and so does not hear SIGTERM. */
const GRACE_SECONDS = 3;
const KEPT_OUTPUT_CHARS = 4_000;

export interface ServerCommand {
  readonly binary: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** The server's own folder, which is removed with it. */
  readonly folder: string;
}

export interface ServerProcess {
  /** Aborts when the server has ended, by itself or by `stop`. */
  readonly ended: AbortSignal;
  /** The last lines that the server wrote, for the error that says why it ended. */
  lastOutput(): string;
  stop(): Promise<void>;
}

export function launchServer({ binary, args, env, folder }: ServerCommand): ServerProcess {
  const shellArgs = ['-c', SUPERVISOR, 'turnfold-redis', folder, String(GRACE_SECONDS), binary, ...args];
  // detached: a session of its own, so that Ctrl-C ends us first and lets us finish with Redis still there.
  const supervisor = spawn('/bin/sh', shellArgs, { env, detached: true, stdio: ['pipe', 'pipe', 'ignore'] });
  const exited = Promise.race([once(supervisor, 'exit'), once(supervisor, 'close')]);
  const ended = new AbortController();
  let output = '';
  supervisor.stdout.setEncoding('utf8').on('data', (text: string) => {
    output = (output + text).slice(-KEPT_OUTPUT_CHARS);
  });
  // The server holds the only other end of this pipe, so its close is the server's end; then the shell may clean up.
  supervisor.stdout.once('close', () => {
    ended.abort();
    supervisor.stdin.end();
  });
  supervisor.stdin.on('error', () => {
    // EPIPE: the shell has ended already, which is all that the write would have asked for.
  });
  exited.catch((error: Error) => {
    output += error.message; // no /bin/sh
  });
  // A forgotten stop must not keep us alive: ending is enough to stop the server.
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

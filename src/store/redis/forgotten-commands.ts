import { Command, type Redis } from 'ioredis';

/** Message of the error that ioredis gives to a command whose connection ended, if it does not send the command again. */
export const ABORTED = 'Command aborted due to connection close';

/**
 * Ends commands that ioredis would forget. Before a connection is ready, ioredis sends CLIENT, INFO, and
 * commands that Redis answers while it loads its data. If the connection ends before it is ready, ioredis (6.0.0) neither repeats nor
 * rejects these commands, so their callers would wait for ever. They get the error `ABORTED`.
 */
export function endForgottenCommands(redis: Redis): void {
  redis.on('close', () => {
    const { commandQueue, prevCommandQueue } = redis as Redis & { prevCommandQueue?: unknown };
    // If the connection was ready, ioredis keeps its commands here and sends them again.
    if (commandQueue === prevCommandQueue) return;
    for (let at = 0; at < commandQueue.length; at += 1) {
      const command: unknown = commandQueue.get(at)?.command;
      if (command instanceof Command && !command.isSettled) command.reject(new Error(ABORTED));
    }
  });
}

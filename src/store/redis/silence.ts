import { Command, type Redis } from 'ioredis';

/** Milliseconds between two looks at a connection. */
const LOOK_MS = 100;

/**
 * Makes a command fail once the server has sent nothing for some time since the command was sent. A server that sends
 * answers is alive. Its other commands only wait for their turn, and repeating them would make the wait longer.
 *
 * A program that was busy itself does not mistake its unread answers for silence. A pass of the event loop looks at
 * most once, and also reads what has arrived.
 * @param silenceMs a multiple of 100 ms. If undefined, commands wait without a limit.
 * @returns the connection
 */
export function failWhenSilent(redis: Redis, silenceMs: number | undefined): Redis {
  if (silenceMs === undefined) return redis;
  const looksOfSilence = silenceMs / LOOK_MS;
  redis.on('connect', () => {
    const { stream } = redis;
    let bytes = stream.bytesRead;
    /** How many commands waited at each look since the server last sent something. */
    let waiting: number[] = [];
    const looks = setInterval(() => {
      if (stream.bytesRead !== bytes) waiting = [];
      bytes = stream.bytesRead;
      waiting.push(redis.commandQueue.length);
      if (waiting.length <= looksOfSilence) return;
      // During the silence no command left the front of the queue.
      const overdue = waiting.shift() ?? 0;
      for (let at = 0; at < overdue; at += 1) failCommand(redis.commandQueue.get(at)?.command);
    }, LOOK_MS);
    looks.unref();
    stream.once('close', () => clearInterval(looks));
  });
  return redis;
}

/** The command stays in the queue of ioredis, which assigns late answers by their order. */
function failCommand(command: unknown): void {
  if (command instanceof Command && !command.isSettled) command.reject(new Error('Command timed out'));
}

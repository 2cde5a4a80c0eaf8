import type { Redis } from 'ioredis';

/** Milliseconds between two looks at a connection. */
const LOOK_MS = 100;

/**
 * Makes the unanswered commands of a connection fail once the server has sent nothing for some time. A server that
 * sends answers is alive. Its other commands only wait for their turn, and repeating them would make the wait longer.
 *
 * A program that was busy itself does not mistake its unread answers for silence. A pass of the event loop looks at
 * most once, and also reads what has arrived.
 * @param redis a Cluster is watched node by node
 * @param silenceMs in whole tenths of a second
 */
export function failWhenSilent(redis: Redis, silenceMs: number): void {
  if (redis.isCluster) redis.on('+node', (node: Redis) => watchServer(node, silenceMs));
  else watchServer(redis, silenceMs);
}

function watchServer(redis: Redis, silenceMs: number): void {
  redis.on('connect', () => {
    const { stream } = redis;
    let bytes = stream.bytesRead;
    let silentLooks = 0;
    const looks = setInterval(() => {
      const isSilent = redis.commandQueue.length > 0 && stream.bytesRead === bytes;
      bytes = stream.bytesRead;
      silentLooks = isSilent ? silentLooks + 1 : 0;
      if (silentLooks * LOOK_MS >= silenceMs) failCommands(redis);
    }, LOOK_MS);
    looks.unref();
    stream.once('close', () => clearInterval(looks));
  });
}

/** The commands stay in the queue of ioredis, which assigns late answers by their order. */
function failCommands({ commandQueue }: Redis): void {
  for (const { command } of commandQueue.toArray()) command.reject(new Error('Command timed out'));
}

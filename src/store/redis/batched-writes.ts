import type { Redis } from 'ioredis';

type Socket = Redis['stream'];

/**
 * Makes a connection to a server send all commands of one pass of the event loop in one write to its socket. Each write is a
 * system call. The option `enableAutoPipelining` of ioredis also saves writes. But ioredis then makes a pipeline
 * for each group of commands, and BullMQ cannot use the option.
 */
export function batchWrites(redis: Redis): void {
  const send = redis.sendCommand.bind(redis);
  redis.sendCommand = (...args) => {
    holdWrites(redis.stream);
    return send(...args);
  };
}

/** Sockets that hold back their writes until the end of this pass of the event loop. */
const held = new WeakSet<Socket>();

/** @param socket absent before the first connect */
function holdWrites(socket: Socket | undefined): void {
  if (socket === undefined || held.has(socket)) return;
  held.add(socket);
  socket.cork();
  setImmediate(() => {
    held.delete(socket);
    socket.uncork();
  });
}

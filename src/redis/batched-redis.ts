import { Redis } from 'ioredis';

type SendCommand = Redis['sendCommand'];
type Socket = Redis['stream'];

/**
 * Connection that sends all commands of one pass of the event loop in one write to its socket, because each write is a
 * system call. The option `enableAutoPipelining` of ioredis also saves writes. But ioredis then makes a pipeline for each
 * group of commands, and BullMQ cannot use the option.
 */
export class BatchedRedis extends Redis {
  override sendCommand(...args: Parameters<SendCommand>): ReturnType<SendCommand> {
    holdWrites(this.stream);
    return super.sendCommand(...args);
  }
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

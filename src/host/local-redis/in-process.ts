import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { EmbeddedRedis } from '../../store/embedded/server.ts';
import type { LocalRedis } from './local-redis.ts';

/** Starts a Redis inside this process. Works on any machine, and its data is neither durable nor shared. */
export async function startInProcess(): Promise<LocalRedis> {
  const redis = await EmbeddedRedis.open();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    redis.serve(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `redis://127.0.0.1:${port}`,
    source: 'in-process',
    description: `a Redis inside this process, port ${port}, because no other can be started. It is for trials: its data ends with the process`,
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      if (!server.listening) return;
      server.close();
      await once(server, 'close');
    },
  };
}

import type { Cluster, Redis } from 'ioredis';
import { batchWrites } from './batched-writes.ts';
import { endForgottenCommands } from './forgotten-commands.ts';
import { spaceRefusedConnections } from './refusing-servers.ts';

/**
 * Prepares a new connection, and those that a Cluster connection opens to its nodes.
 * @returns the connection
 */
export function prepareServers<Connection extends Redis | Cluster>(connection: Connection): Connection {
  if (connection.isCluster) connection.on('+node', prepareServer);
  else prepareServer(connection as Redis);
  return connection;
}

function prepareServer(server: Redis): void {
  batchWrites(server);
  endForgottenCommands(server);
  spaceRefusedConnections(server);
}

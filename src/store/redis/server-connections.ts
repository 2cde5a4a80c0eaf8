import { type Cluster, Command, type Redis, type RedisOptions } from 'ioredis';

export function prepareServers<Connection extends Redis | Cluster>(connection: Connection): Connection {
  if (connection.isCluster) connection.on('+node', prepareServer);
  else prepareServer(connection as Redis);
  return connection;
}

function prepareServer(server: Redis): void {
  outliveErrors(server);
  batchWrites(server);
  endForgottenCommands(server);
  spaceRefusedConnections(server);
}

type Socket = Redis['stream'];

/**
 * Sends all commands of one pass of the event loop in one write to the socket, because each write is a system call.
 * `enableAutoPipelining` of ioredis also saves writes. But it makes a pipeline for each group of commands, and BullMQ
 * cannot use it.
 */
export function batchWrites(redis: Redis): void {
  const send = redis.sendCommand.bind(redis);
  redis.sendCommand = (...args) => {
    holdWrites(redis.stream);
    return send(...args);
  };
}

const held = new WeakSet<Socket>();

function holdWrites(socket: Socket | undefined): void {
  if (socket === undefined || held.has(socket)) return;
  held.add(socket);
  socket.cork();
  setImmediate(() => {
    held.delete(socket);
    socket.uncork();
  });
}

/**
 * Keeps the process alive when a socket has a second error. ioredis 6 listens only to the first. An error without a
 * listener ends the process. Over TLS, an alert of the server may follow a reset connection.
 */
function outliveErrors(redis: Redis): void {
  const heard = new WeakSet<Socket>();
  const listen = (): void => {
    const socket = redis.stream as Socket | undefined;
    if (socket === undefined || heard.has(socket)) return;
    heard.add(socket);
    socket.on('error', () => undefined);
  };
  redis.on('connect', listen);
  // The first error may come before the end of the handshake.
  redis.on('error', listen);
}

export const ABORTED = 'Command aborted due to connection close';

/**
 * Rejects commands that ioredis would forget. Before a connection is ready, ioredis sends CLIENT, INFO, and commands
 * that Redis answers while it loads its data. If the connection then ends, ioredis (6.0.0) neither repeats nor rejects
 * them, and their callers would wait for ever.
 */
function endForgottenCommands(redis: Redis): void {
  redis.on('close', () => {
    const { commandQueue, prevCommandQueue } = redis as Redis & { prevCommandQueue?: unknown };
    // If the connection was ready, ioredis keeps its commands in this queue and sends them again.
    if (commandQueue === prevCommandQueue) return;
    for (let at = 0; at < commandQueue.length; at += 1) {
      const command: unknown = commandQueue.get(at)?.command;
      if (command instanceof Command && !command.isSettled) command.reject(new Error(ABORTED));
    }
  });
}

/** ms between two connections of this process to servers that refuse its connections or writes. */
const SPACING_MS = 1_000;
/** ms between two reconnects of one service connection (`failsFast`) to a server that refuses writes. */
const FAIL_FAST_MS = 5_000;
const INCIDENT_MS = 15_000;
/** If so many connections in a row end before they are ready, the server refuses, e.g. because of too many clients. */
const MOST_DROPPED = 2;

let nextAt = 0;

const waiting = new Set<Redis>();

/** Reconnects all spaced connections at once. Called when Redis accepts writes again. */
export function reconnectRefused(): void {
  nextAt = 0;
  for (const server of waiting) if (server.status === 'reconnecting') server.connect().catch(() => undefined);
}

function takeSlot(): number {
  const now = performance.now();
  nextAt = Math.max(now, nextAt) + SPACING_MS;
  return nextAt - now;
}

type Retry = NonNullable<RedisOptions['retryStrategy']>;
type Judge = NonNullable<RedisOptions['reconnectOnError']>;
/** For each function that was set here, the caller's own function. A duplicated connection copies the options. */
const originals = new WeakMap<Retry | Judge, Retry | Judge>();

function wrap<Call extends Retry | Judge>(call: Call, make: (original: Call) => Call): Call {
  const original = (originals.get(call) ?? call) as Call;
  const made = make(original);
  originals.set(made, original);
  return made;
}

/**
 * Spaces the connections to a server that answers but refuses: a replica, or one with too many clients. The first
 * reconnect of an incident is immediate, because it finds the new master after a failover. Each refusal is emitted as
 * an `error`, because ioredis repeats a refused write and reports nothing.
 */
function spaceRefusedConnections(server: Redis): void {
  const { retryStrategy, reconnectOnError } = server.options;
  let refusedAt = Number.NEGATIVE_INFINITY;
  let isFirst = false;
  let reconnectedAt = Number.NEGATIVE_INFINITY;
  const isRefused = (): boolean => performance.now() - refusedAt < INCIDENT_MS;
  const note = (): void => {
    if (!isRefused()) isFirst = true;
    refusedAt = performance.now();
  };
  let dropped = 0;
  server.on('connect', () => void (dropped += 1));
  for (const event of ['connecting', 'end']) server.on(event, () => void waiting.delete(server));
  server.on('ready', () => void (dropped = 0));
  if (typeof retryStrategy === 'function') {
    server.options.retryStrategy = wrap<Retry>(retryStrategy, (usual) => (times) => {
      if (dropped >= MOST_DROPPED) note();
      const delayMs = usual(times);
      if (typeof delayMs !== 'number' || !isRefused()) return delayMs;
      // An immediate reconnect takes a slot of the spacing, too, and so delays the next reconnects.
      const slotMs = takeSlot();
      if (!isFirst) {
        waiting.add(server);
        return Math.max(delayMs, slotMs);
      }
      isFirst = false;
      return delayMs;
    });
  }
  if (typeof reconnectOnError === 'function') {
    server.options.reconnectOnError = wrap<Judge>(reconnectOnError, (judge) => (error) => {
      const answer = judge(error);
      if (answer === false) return false;
      note();
      if (server.listenerCount('error') > 0) server.emit('error', error);
      if (answer === 2) return answer;
      // The caller of the command may try again. Soon after a reconnect, that attempt uses the same connection.
      if (performance.now() - reconnectedAt < FAIL_FAST_MS) return false;
      reconnectedAt = performance.now();
      isFirst = true;
      return answer;
    });
  }
  disconnectOnce(server);
}

/**
 * Ends each socket only once: every refused command of a pipeline asks for a reconnect, and ioredis adds a listener to
 * the socket each time. Also removes a closed connection from `waiting`, because ioredis emits no `end` if a connection
 * is closed while it waits to reconnect.
 */
function disconnectOnce(server: Redis): void {
  const disconnect = server.disconnect.bind(server);
  server.disconnect = (reconnect = false) => {
    const { stream } = server as { readonly stream?: Redis['stream'] };
    if (!reconnect) waiting.delete(server);
    if (!reconnect || stream?.writableEnded !== true) disconnect(reconnect);
  };
}

import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { listNodes, type RedisLocation, type RedisNode, readRedisAddress, usesTls } from './address.ts';
import { findTlsFault, PLAIN_PORT, type RedisRefusal, TLS_PORT } from './errors.ts';
import { makeTlsOptions, type TlsOptions } from './tls.ts';

/** ms to wait for a message before the first command. A Redis that refuses a client sends the reason at once. */
const GREETING_MS = 1_000;
const ANSWER_MS = 500;

export const PROTECTED_MODE: RedisRefusal = {
  message: 'it is in protected mode (DENIED): while it has no password, it accepts only clients on its own machine',
  hint: 'Set a password on the server (requirepass) and in REDIS_URL. In a network that you trust, you may set protected-mode no instead.',
};

/**
 * Finds out why the server refused a connection, or why this process did: protected mode, certificates, or TLS on one
 * side only.
 *
 * ioredis reports only EPIPE, ECONNRESET or "Connection is closed". ioredis writes at once, and the kernel then drops
 * the server's last message. Sentinels and a Cluster hide the cause, too. So this function opens a connection of its
 * own and listens before it writes.
 */
export async function findRefusal({ url, tls }: RedisLocation): Promise<RedisRefusal | undefined> {
  const address = readRedisAddress(url);
  if (address === undefined) return undefined;
  const nodes = listNodes(address);
  const options = usesTls(address) ? makeTlsOptions(tls) : undefined;
  const refusals = await Promise.all(
    nodes.map(async (node) => {
      const refusal = await (options === undefined ? askPlainly(node) : askOverTls(node, options));
      if (refusal === undefined || nodes.length === 1) return refusal;
      return { ...refusal, message: `of ${node.host}:${node.port}: ${refusal.message}` };
    }),
  );
  return refusals.find((refusal) => refusal !== undefined);
}

/** With too many clients, or in protected mode, a server sends an error and closes. */
export async function readGreeting({ url, tls }: RedisLocation): Promise<string | undefined> {
  const address = readRedisAddress(url);
  if (address === undefined) return undefined;
  const options = usesTls(address) ? makeTlsOptions(tls) : undefined;
  const greetings = await Promise.all(
    listNodes(address).map(async (node) => {
      const socket = options === undefined ? connect(node) : connectTls({ ...node, ...options });
      const greeting = await talk(socket, (line) => line.next('data', GREETING_MS));
      return greeting.kind === 'received' && greeting.text.startsWith('-') ? greeting.text.slice(1).trim() : undefined;
    }),
  );
  return greetings.find((text) => text !== undefined);
}

async function askPlainly(node: RedisNode): Promise<RedisRefusal | undefined> {
  const answer = await talk(connect(node), async (line) => {
    const greeting = await line.next('data', GREETING_MS);
    if (greeting.kind !== 'silence') return greeting;
    return await line.ask('PING');
  });
  // A TLS server treats plain text as a broken handshake and closes, with or without a message.
  if (answer.kind === 'silence' || isRedisTalk(answer)) return findProtectedMode(answer);
  return (await takesTls(node)) ? TLS_PORT : undefined;
}

async function askOverTls(node: RedisNode, options: TlsOptions): Promise<RedisRefusal | undefined> {
  const [handshake, answer] = await talk(connectTls({ ...node, ...options }), async (line) => {
    const secured = await line.next('secureConnect', GREETING_MS);
    // In TLS 1.3, a server asks for a missing client certificate only after the handshake.
    return [secured, secured.kind === 'received' ? await line.next('data', GREETING_MS) : secured];
  });
  const refusal = answer.kind === 'failed' ? findTlsFault(answer.error) : findProtectedMode(answer);
  if (refusal !== undefined || handshake.kind === 'received') return refusal;
  return (await takesPlainText(node)) ? PLAIN_PORT : undefined;
}

/** The certificate is not checked, because no data is sent. */
async function takesTls(node: RedisNode): Promise<boolean> {
  const socket = connectTls({ ...node, rejectUnauthorized: false });
  const answer = await talk(socket, (line) => line.next('secureConnect', ANSWER_MS));
  return answer.kind === 'received' || (answer.kind === 'failed' && /alert/i.test(answer.error));
}

async function takesPlainText(node: RedisNode): Promise<boolean> {
  return isRedisTalk(await talk(connect(node), (line) => line.ask('PING')));
}

type Reply =
  | { readonly kind: 'received'; readonly text: string }
  | { readonly kind: 'failed'; readonly error: string }
  | { readonly kind: 'silence' };

interface Line {
  /** Resolves with the next event of the socket, with its end, or with silence after `ms`. */
  next(event: 'data' | 'secureConnect', ms: number): Promise<Reply>;
  ask(command: string): Promise<Reply>;
}

async function talk<T>(socket: Socket, use: (line: Line) => Promise<T>): Promise<T> {
  const ended = new Promise<Reply>((resolve) => {
    socket.on('error', (cause) => {
      const code = 'code' in cause ? `${String(cause.code)} ` : '';
      resolve({ kind: 'failed', error: `${code}${cause.message}` });
    });
    socket.on('close', () => resolve({ kind: 'failed', error: '' }));
  });
  const line: Line = {
    async next(event, ms) {
      const { promise, resolve } = Promise.withResolvers<Reply>();
      const timer = setTimeout(resolve, ms, { kind: 'silence' });
      socket.once(event, (data?: Buffer) => resolve({ kind: 'received', text: String(data ?? '') }));
      try {
        return await Promise.race([promise, ended]);
      } finally {
        clearTimeout(timer);
      }
    },
    async ask(command) {
      socket.write(`${command}\r\n`);
      return await line.next('data', ANSWER_MS);
    },
  };
  try {
    return await use(line);
  } finally {
    socket.destroy();
  }
}

function findProtectedMode(reply: Reply): RedisRefusal | undefined {
  return reply.kind === 'received' && /^-DENIED .*protected mode/.test(reply.text) ? PROTECTED_MODE : undefined;
}

function isRedisTalk(reply: Reply): boolean {
  return reply.kind === 'received' && /^[+-]/.test(reply.text);
}

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';

/** A command as Redis receives it: its name and its arguments. */
type Command = readonly Buffer[];

/**
 * Ways in which a proxy hides its clients: it refuses CLIENT, or its list of clients is empty. Redis answers instead of the
 * proxy, so replies stay in order.
 */
const REWRITES = {
  refuses: () => ['UNKNOWN'],
  empties: ([, kind]: Command) => (kind?.toString().toUpperCase() === 'LIST' ? ['ECHO', ''] : undefined),
} as const;

export type Hiding = keyof typeof REWRITES;

/** Starts a proxy in front of Redis that hides its clients. */
export async function startHidingProxy(redisUrl: string, hiding: Hiding): Promise<{ url: string; close(): void }> {
  const { hostname, port } = new URL(redisUrl);
  const server: Server = createServer((near) => {
    const far = connect(Number(port), hostname);
    near.on('close', () => far.destroy()).on('error', () => undefined);
    far.on('close', () => near.destroy()).on('error', () => undefined);
    far.pipe(near);
    let rest: Buffer = Buffer.alloc(0);
    near.on('data', (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk]);
      for (let read = readCommand(rest); read !== undefined; read = readCommand(rest)) {
        const isClient = read.command[0]?.toString().toUpperCase() === 'CLIENT';
        const rewritten = isClient ? REWRITES[hiding](read.command) : undefined;
        far.write(rewritten === undefined ? rest.subarray(0, read.end) : writeCommand(rewritten));
        rest = rest.subarray(read.end);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => void server.close(),
  };
}

/** Reads the first command of the bytes. Undefined if it is not complete yet. */
function readCommand(bytes: Buffer): { readonly command: Command; readonly end: number } | undefined {
  const count = readLength(bytes, 0);
  if (count === undefined) return undefined;
  const command: Buffer[] = [];
  let { end } = count;
  while (command.length < count.value) {
    const size = readLength(bytes, end);
    if (size === undefined || size.end + size.value + 2 > bytes.length) return undefined;
    command.push(bytes.subarray(size.end, size.end + size.value));
    end = size.end + size.value + 2;
  }
  return { command, end };
}

/** Reads a line such as `*3` or `$5`. */
function readLength(bytes: Buffer, from: number): { readonly value: number; readonly end: number } | undefined {
  const at = bytes.indexOf('\r\n', from);
  return at === -1 ? undefined : { value: Number(bytes.toString('latin1', from + 1, at)), end: at + 2 };
}

function writeCommand(words: readonly string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`;
}

import type { Duplex } from 'node:stream';
import { encodeReply, OK, type Reply, ReplyError, Status } from './reply.ts';

interface SessionServer {
  readonly run: (name: string, args: string[]) => Reply;
  readonly hasRun: () => void;
  /** Sessions of all connections, oldest first. */
  readonly listSessions: () => readonly Session[];
}

interface Waiting {
  readonly attempt: () => Reply;
  readonly timer: NodeJS.Timeout | undefined;
}

const QUEUED = new Status('QUEUED');
/** Commands that wait for data, each with its counterpart that answers at once. */
const BLOCKING: Readonly<Record<string, string>> = { BZPOPMIN: 'ZPOPMIN', BLPOP: 'LPOP', BRPOP: 'RPOP' };

/** One connection to the server. A command that waits delays the requests behind it. */
export class Session {
  readonly id: number;
  readonly #stream: Duplex;
  readonly #server: SessionServer;
  readonly #reader = new RequestReader();
  readonly #channels = new Set<string>();
  readonly #own: Readonly<Record<string, (args: string[]) => Reply | undefined>>;
  readonly #later: string[][] = [];
  #queued: string[][] | undefined;
  #waiting: Waiting | undefined;
  name = '';

  constructor(stream: Duplex, server: SessionServer, id: number) {
    this.id = id;
    this.#stream = stream;
    this.#server = server;
    this.#own = {
      SUBSCRIBE: (names) => this.#subscribe(names),
      UNSUBSCRIBE: (names) => this.#unsubscribe(names),
      MULTI: () => ((this.#queued = []), OK),
      DISCARD: () => ((this.#queued = undefined), OK),
      EXEC: () => this.#exec(),
      CLIENT: ([kind = '', ...args]) => this.#client(kind.toUpperCase(), args),
      QUIT: () => (queueMicrotask(() => stream.end()), OK),
    };
    stream.on('data', (bytes: Buffer) => this.#take(bytes));
    stream.on('error', () => stream.destroy());
    stream.on('close', () => this.#clearWaiting());
  }

  receive(channel: string, message: string): boolean {
    if (!this.#channels.has(channel)) return false;
    this.#send(['message', channel, message]);
    return true;
  }

  retry(): void {
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    const reply = attempt(waiting.attempt);
    if (reply !== null) this.#endWaiting(reply);
  }

  #take(bytes: Buffer): void {
    try {
      for (const request of this.#reader.read(bytes)) {
        if (this.#waiting === undefined) this.#answer(request);
        else this.#later.push(request);
      }
    } catch (error) {
      this.#stream.destroy(error as Error);
    }
  }

  #answer([word = '', ...args]: string[]): void {
    const name = word.toUpperCase();
    const reply = attempt(() => this.#run(name, args));
    if (reply !== undefined) this.#send(reply);
    this.#server.hasRun();
  }

  /** @returns undefined if the reply comes later, or is sent already */
  #run(name: string, args: string[]): Reply | undefined {
    const own = this.#own[name];
    if (this.#queued !== undefined && own === undefined) {
      this.#queued.push([name, ...args]);
      return QUEUED;
    }
    if (own !== undefined) return own(args);
    if (name in BLOCKING) return this.#wait(name, args);
    if (name === 'XREAD' && args.some((word) => word.toUpperCase() === 'BLOCK')) return this.#waitForEntries(args);
    return this.#server.run(name, args);
  }

  #exec(): Reply {
    const queued = this.#queued;
    this.#queued = undefined;
    if (queued === undefined) throw new ReplyError('ERR EXEC without MULTI');
    return queued.map(([name = '', ...args]) => attempt(() => this.#server.run(name, args)) as Reply);
  }

  #wait(name: string, args: string[]): Reply | undefined {
    const keys = args.slice(0, -1);
    const popped = BLOCKING[name] as string;
    return this.#waitFor(1_000 * Number(args.at(-1)), () => {
      for (const key of keys) {
        const found = this.#server.run(popped, [key]);
        if (typeof found === 'string') return [key, found];
        if (typeof found === 'object' && found !== null && 'length' in found && found.length > 0)
          return [key, ...found];
      }
      return null;
    });
  }

  #waitForEntries(args: string[]): Reply | undefined {
    const at = args.findIndex((word) => word.toUpperCase() === 'BLOCK');
    const rest = [...args.slice(0, at), ...args.slice(at + 2)];
    const streams = rest.findIndex((word) => word.toUpperCase() === 'STREAMS');
    const count = (rest.length - streams - 1) / 2;
    // The id `$` means the newest entry at the time of the call.
    const fixed = rest.map((word, index) => {
      return word === '$' && index > streams + count ? this.#newestOf(rest[index - count] as string) : word;
    });
    return this.#waitFor(Number(args[at + 1]), () => this.#server.run('XREAD', fixed));
  }

  #newestOf(stream: string): string {
    const [newest] = this.#server.run('XREVRANGE', [stream, '+', '-', 'COUNT', '1']) as Reply[][];
    return (newest?.[0] as string | undefined) ?? '0-0';
  }

  /** @param ms 0 for no limit */
  #waitFor(ms: number, run: () => Reply): Reply | undefined {
    const reply = run();
    if (reply !== null) return reply;
    const timer = ms === 0 ? undefined : setTimeout(() => this.#endWaiting(null), ms);
    this.#waiting = { attempt: run, timer };
    return undefined;
  }

  #endWaiting(reply: Reply | ReplyError): void {
    this.#clearWaiting();
    this.#send(reply);
    for (let next = this.#later.shift(); next !== undefined && this.#waiting === undefined; next = this.#later.shift())
      this.#answer(next);
  }

  #clearWaiting(): void {
    clearTimeout(this.#waiting?.timer);
    this.#waiting = undefined;
  }

  #subscribe(names: readonly string[]): undefined {
    for (const name of names) {
      this.#channels.add(name);
      this.#send(['subscribe', name, this.#channels.size]);
    }
  }

  #unsubscribe(names: readonly string[]): undefined {
    for (const name of names.length === 0 ? [...this.#channels] : names) {
      this.#channels.delete(name);
      this.#send(['unsubscribe', name, this.#channels.size]);
    }
  }

  #client(kind: string, args: readonly string[]): Reply {
    if (kind === 'SETNAME') this.name = args[0] ?? '';
    if (kind === 'GETNAME') return this.name;
    if (kind === 'ID') return this.id;
    if (kind !== 'LIST') return OK;
    return findSessions(this.#server.listSessions(), args)
      .map(({ id, name }) => `id=${id} addr=in-process name=${name}\n`)
      .join('');
  }

  #send(reply: Reply | ReplyError): void {
    if (this.#stream.writable) this.#stream.write(encodeReply(reply), 'latin1');
  }
}

/** @param args arguments of CLIENT LIST: none, or ID and then ids */
function findSessions(sessions: readonly Session[], [word, ...ids]: readonly string[]): readonly Session[] {
  if (word === undefined) return sessions;
  if (word.toUpperCase() !== 'ID' || ids.length === 0) throw new ReplyError('ERR syntax error');
  if (!ids.every((id) => Number.isInteger(Number(id)) && Number(id) > 0)) throw new ReplyError('ERR Invalid client ID');
  return ids.flatMap((given) => sessions.find(({ id }) => id === Number(given)) ?? []);
}

function attempt<Result>(run: () => Result): Result | ReplyError {
  try {
    return run();
  } catch (error) {
    if (error instanceof ReplyError) return error;
    throw error;
  }
}

/** Reads requests from pieces of bytes: each is a list of texts (`*2\r\n$3\r\nGET\r\n$1\r\na\r\n`). */
class RequestReader {
  /** Bytes that were received and not read yet, as latin1. */
  #text = '';
  #at = 0;

  *read(bytes: Buffer): Generator<string[]> {
    this.#text = this.#text.slice(this.#at) + bytes.toString('latin1');
    this.#at = 0;
    for (let request = this.#next(); request !== undefined; request = this.#next()) yield request;
  }

  #next(): string[] | undefined {
    const start = this.#at;
    const count = this.#readLength('*');
    const parts: string[] = [];
    for (let part = 0; part < (count ?? 0); part += 1) {
      const length = this.#readLength('$');
      if (length === undefined || this.#text.length < this.#at + length + 2) break;
      parts.push(this.#text.slice(this.#at, this.#at + length));
      this.#at += length + 2;
    }
    if (count !== undefined && parts.length === count) return parts;
    this.#at = start;
    return undefined;
  }

  #readLength(mark: '*' | '$'): number | undefined {
    const end = this.#text.indexOf('\r\n', this.#at);
    if (end === -1) return undefined;
    const line = this.#text.slice(this.#at, end);
    if (!line.startsWith(mark) || !/^\d+$/.test(line.slice(1))) throw new Error(`no request of Redis: ${line}`);
    this.#at = end + 2;
    return Number(line.slice(1));
  }
}

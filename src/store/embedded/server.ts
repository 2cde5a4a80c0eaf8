/**
 * A Redis in this process, for trials and tests. It runs the scripts of the store and of BullMQ as they are shipped.
 * So there is no second store that must be kept equal to the first, and the contract tests run over both.
 *
 * Redis runs scripts in Lua 5.1, and so does `wasmoon-lua5.1`, Lua in WebAssembly. fengari is Lua 5.3, which writes
 * numbers differently. A turn (accept, claim, settle) took 4.2 ms with fengari, and takes 0.8 ms now. With
 * ioredis-mock, 500 of 514 contract tests failed (docs/contributing/dependencies.md).
 *
 * Values are bytes, and a text here has one UTF-16 unit per byte (latin1), so lengths are those of Redis.
 *
 * `connect` gives an ioredis connection over a stream in memory. `session.ts` reads its requests and answers them in
 * order. `run` finds the command in a table of `commands/`, over the values in `database.ts`. EVAL hands the script to
 * `lua-scripts.ts`, which calls back into `run`.
 */

import { type Duplex, duplexPair } from 'node:stream';
import { AbstractConnector, Redis } from 'ioredis';
import { wrongNumber } from './commands/options.ts';
import { ORDERED_VALUES } from './commands/ordered-values.ts';
import { PLAIN_VALUES } from './commands/plain-values.ts';
import { type Command, Database } from './database.ts';
import { LuaScripts } from './lua-scripts.ts';
import { OK, type Reply, ReplyError, Status } from './reply.ts';
import { Session } from './session.ts';

const COMMANDS: ReadonlyMap<string, Command> = new Map(Object.entries({ ...PLAIN_VALUES, ...ORDERED_VALUES }));

const SOCKET_SETTINGS = { setNoDelay: () => undefined, setKeepAlive: () => undefined };

const VERSION = '7.2.0';

export class EmbeddedRedis {
  /** The keys and values. Tests replace them between two commands. */
  database = new Database();
  readonly #sessions = new Set<Session>();
  readonly #scripts: LuaScripts;
  readonly #known = new Set<string>();
  readonly #served: Readonly<Record<string, (args: string[]) => Reply>>;
  #connections = 0;

  private constructor(scripts: LuaScripts) {
    this.#scripts = scripts;
    this.#served = {
      EVAL: ([script = '', ...args]) => this.#eval(this.#load(script), args),
      EVALSHA: ([sha = '', ...args]) => this.#eval(sha.toLowerCase(), args),
      SCRIPT: ([kind = '', ...args]) => this.#script(kind.toUpperCase(), args),
      PUBLISH: ([channel = '', message = '']) => this.publish(channel, message),
      PING: ([text]) => text ?? new Status('PONG'),
      ECHO: ([text = '']) => text,
      INFO: () => this.#info(),
      CONFIG: ([kind = '', name = '']) => (kind.toUpperCase() === 'GET' ? configOf(name) : OK),
      SELECT: ([number]) => {
        if (number !== '0') throw new ReplyError('ERR DB index is out of range');
        return OK;
      },
    };
  }

  static async open(): Promise<EmbeddedRedis> {
    return new EmbeddedRedis(await LuaScripts.load());
  }

  /** The duplicates of the connection connect to the same server. */
  connect(): Redis {
    const serve = (stream: Duplex): void => this.serve(stream);
    class InProcessConnector extends AbstractConnector {
      constructor() {
        super(0);
      }

      override async connect(): Promise<never> {
        const [ours, theirs] = duplexPair();
        serve(theirs);
        Object.assign(this, { stream: Object.assign(ours, SOCKET_SETTINGS) });
        return ours as never;
      }
    }
    return new Redis({ Connector: InProcessConnector });
  }

  serve(stream: Duplex): void {
    this.#connections += 1;
    const session = new Session(
      stream,
      {
        run: (name, args) => this.run(name, args),
        hasRun: () => {
          for (const one of this.#sessions) one.retry();
        },
        listSessions: () => [...this.#sessions],
      },
      this.#connections,
    );
    this.#sessions.add(session);
    stream.once('close', () => this.#sessions.delete(session));
  }

  /** @throws ReplyError */
  run(word: string, args: string[]): Reply {
    const name = word.toUpperCase();
    const served = this.#served[name];
    if (served !== undefined) return served(args);
    const command = COMMANDS.get(name);
    if (command === undefined) throw new ReplyError(`ERR unknown command '${word}'`);
    if (args.length < command.length - 1) throw wrongNumber(name);
    return command(this.database, ...args);
  }

  /** @returns the number of connections that receive the message */
  publish(channel: string, message: string): number {
    return [...this.#sessions].filter((session) => session.receive(channel, message)).length;
  }

  #load(script: string): string {
    const sha = this.#scripts.compile(script);
    this.#known.add(sha);
    return sha;
  }

  #eval(sha: string, [count = '0', ...args]: string[]): Reply {
    if (!this.#known.has(sha)) throw new ReplyError('NOSCRIPT No matching script. Please use EVAL.');
    const keys = args.splice(0, Number(count));
    return this.database.runScript(() =>
      this.#scripts.run(sha, { keys, args, run: (name, given) => this.run(name, given) }),
    );
  }

  #script(kind: string, args: readonly string[]): Reply {
    if (kind === 'LOAD') return this.#load(args[0] ?? '');
    if (kind === 'EXISTS') return args.map((sha) => Number(this.#known.has(sha.toLowerCase())));
    this.#known.clear();
    return OK;
  }

  #info(): string {
    const facts = {
      redis_version: VERSION,
      redis_mode: 'standalone',
      role: 'master',
      loading: 0,
      aof_enabled: 0,
      maxmemory_policy: 'noeviction',
      maxmemory: 0,
      used_memory: process.memoryUsage.rss(),
      evicted_keys: 0,
      connected_clients: this.#sessions.size,
    };
    return `${Object.entries(facts)
      .map(([name, value]) => `${name}:${value}`)
      .join('\r\n')}\r\n`;
  }
}

function configOf(name: string): Reply {
  const settings: Readonly<Record<string, string>> = { 'maxmemory-policy': 'noeviction', appendonly: 'no' };
  const value = settings[name.toLowerCase()];
  return value === undefined ? [] : [name, value];
}

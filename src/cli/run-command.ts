import type { Command } from 'commander';
import type { OpenClient, TurnfoldClient } from '../api/client/index.ts';
import { DEFAULT_REDIS_URL, readConfig, usePrefix } from '../host/config.ts';
import { Interruption } from './interruption.ts';
import { type Output, reportError } from './output.ts';
import { COMMAND_WAIT_MS, explainError, waitForRedis } from './redis-outage.ts';
import { type TypedNames, wordTypedError } from './typed-errors.ts';

export interface CommandContext {
  readonly output: Output;
}

/** Services that a command with Redis receives. */
export interface ClientContext extends CommandContext {
  readonly client: TurnfoldClient;
}

/** Services that a command on access from outside receives. */
export interface AccessContext extends CommandContext {
  readonly client: OpenClient;
}

/** Services that a command receives if the command prints some errors itself. */
export interface WordingContext extends CommandContext {
  /** Translates an API error into the option names that the person typed. */
  readonly wordError: (error: unknown) => unknown;
}

/** Options of every command on one conversation. */
export interface ConversationOptions {
  readonly tenant: string;
  readonly json?: boolean;
}

/** A command. The command gets its arguments and options as commander parsed them, and returns its exit code. */
type Run<Context> = (context: Context, ...typed: never[]) => number | Promise<number>;
type Load<Context> = () => Promise<Run<Context>>;
type Action = (...typed: unknown[]) => Promise<void>;

/**
 * Connects commands to the library commander. A command's module is imported only when the command runs, so `--help`
 * takes 0.16 s instead of 0.5 s. A failure is printed as text, or as JSON with `--json`.
 */
export class CommandRunner {
  /** Exit code of the command that was run. */
  exitCode = 0;
  readonly #output: Output;

  constructor(output: Output) {
    this.#output = output;
  }

  /** Returns the function that commander calls for a command without Redis. */
  local(load: Load<CommandContext>): Action {
    return (...typed) => this.#run(typed, async (context, args) => (await load())(context, ...args));
  }

  /**
   * Returns the function that commander calls for a command with Redis. The command gets a client of the Redis at
   * `REDIS_URL`.
   * @param names API fields that have another name on the command line
   */
  onRedis(load: Load<AccessContext & WordingContext>, names?: TypedNames): Action {
    const run = async (context: WordingContext, args: never[]): Promise<number> => {
      const client = await openCommandClient(context.output);
      try {
        return await (await load())({ ...context, client }, ...args);
      } finally {
        await client.close();
      }
    };
    return (...typed) => this.#run(typed, run, names);
  }

  /** Runs a command. @param typed arguments, options and the command itself, in the order of commander */
  async #run(
    typed: unknown[],
    run: (context: WordingContext, args: never[]) => Promise<number>,
    names?: TypedNames,
  ): Promise<void> {
    const command = typed.at(-1) as Command;
    const { prefix, ...options } = typed.at(-2) as { readonly prefix?: string };
    if (prefix !== undefined) usePrefix(prefix);
    const wordError = (error: unknown): unknown => wordTypedError(error, command, names);
    try {
      this.exitCode = await run({ output: this.#output, wordError }, [...typed.slice(0, -2), options] as never[]);
    } catch (error) {
      // Ends the process at once, because interrupted work in flight would keep it alive.
      if (error instanceof Interruption) process.exit(error.exitCode);
      this.exitCode = reportError(this.#output, wordError(error), command.getOptionValue('json') === true);
    }
  }
}

async function openCommandClient(output: Output): Promise<OpenClient> {
  const { redisUrl, redisTls, prefix, shards, queueShards, durability } = readConfig();
  const { openClientAtOnce } = await import('../api/client/open-client.ts');
  const url = redisUrl ?? DEFAULT_REDIS_URL;
  const location = { url, tls: redisTls, prefix };
  const open = () => openClientAtOnce({ redisUrl: url, redisTls, prefix, shards, queueShards, durability });
  return await waitForRedis({ location, waitMs: COMMAND_WAIT_MS, output }, open).catch(async (error: unknown) => {
    if (redisUrl === undefined)
      output.note(`REDIS_URL is not set, so ${DEFAULT_REDIS_URL} was tried (turnfold dev needs no Redis)`);
    throw await explainError(error, location);
  });
}

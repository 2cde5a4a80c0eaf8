import type { Command } from 'commander';
import type { OpenClient, TurnfoldClient } from '../api/client/index.ts';
import { Interruption } from './interruption.ts';
import { type Output, reportError } from './output.ts';
import type { TypedNames } from './typed-errors.ts';

export interface CommandContext {
  readonly output: Output;
}

export interface ClientContext extends CommandContext {
  readonly client: TurnfoldClient;
}

export interface AccessContext extends CommandContext {
  readonly client: OpenClient;
}

/** Context of a command that prints some errors itself. */
export interface WordingContext extends CommandContext {
  /** Replaces API fields by the option names that the person typed. */
  readonly wordError: (error: unknown) => unknown;
}

export interface JsonOption {
  readonly json?: boolean;
}

export interface ConversationOptions extends JsonOption {
  readonly tenant: string;
}

export interface ListOptions extends JsonOption {
  /** Absent: all tenants. */
  readonly tenant?: string;
  readonly limit: number;
}

/** Gets arguments and options as commander parsed them, and returns the exit code. */
type Run<Context> = (context: Context, ...typed: never[]) => number | Promise<number>;
type Load<Context> = () => Promise<Run<Context>>;
type Action = (...typed: unknown[]) => Promise<void>;

/**
 * Connects the commands to commander. It imports the module of a command, opens a client if the command uses Redis, and
 * prints the error. Modules are imported only when a command runs, so `--help` and shell completion load only commander.
 *
 * A command is a function of its context, arguments and options, and returns an exit code. So tests and `turnfold dev`
 * call it without a command line. The contract of the API does not generate commands: its rows have no periods (`2h`),
 * files (`@path`), tables, or advice on the next command.
 *
 * Errors come from the client and name its fields. `wordTypedError` names the option or argument that the person typed.
 */
export class CommandRunner {
  exitCode = 0;
  readonly #output: Output;

  constructor(output: Output) {
    this.#output = output;
  }

  local(load: Load<CommandContext>): Action {
    return (...typed) => this.#run(typed, async (context, args) => (await load())(context, ...args));
  }

  /** @param names API fields with another name on the command line */
  onRedis(load: Load<AccessContext & WordingContext>, names?: TypedNames): Action {
    const run = async (context: WordingContext, args: never[]): Promise<number> => {
      const { openCommandClient } = await import('./command-client.ts');
      const client = await openCommandClient(context.output);
      try {
        return await (await load())({ ...context, client }, ...args);
      } finally {
        await client.close();
      }
    };
    return (...typed) => this.#run(typed, run, names);
  }

  /** @param typed arguments, options and the command itself, in the order of commander */
  async #run(
    typed: unknown[],
    run: (context: WordingContext, args: never[]) => Promise<number>,
    names?: TypedNames,
  ): Promise<void> {
    const command = typed.at(-1) as Command;
    const { prefix, ...options } = typed.at(-2) as { readonly prefix?: string };
    if (prefix !== undefined) (await import('../host/config.ts')).usePrefix(prefix);
    const { wordTypedError } = await import('./typed-errors.ts');
    const wordError = (error: unknown): unknown => wordTypedError(error, command, names);
    try {
      this.exitCode = await run({ output: this.#output, wordError }, [...typed.slice(0, -2), options] as never[]);
    } catch (error) {
      // Interrupted work in flight would keep the process alive.
      if (error instanceof Interruption) process.exit(error.exitCode);
      this.exitCode = reportError(this.#output, wordError(error), command.getOptionValue('json') === true);
    }
  }
}

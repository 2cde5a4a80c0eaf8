import tab from '@bomb.sh/tab/commander';
import { type Command, CommanderError } from 'commander';
import { TurnfoldError } from '../domain/errors.ts';
import { addCheckCommands } from './check-commands.ts';
import { addConversationCommands } from './conversation-commands.ts';
import { addOfflineCommands } from './offline-commands.ts';
import { type Output, reportError } from './output.ts';
import { readPackageFacts } from './package-facts.ts';
import { addProcessCommands } from './process-commands.ts';
import { Program } from './run-command.ts';
import { addTurnCommands } from './turn-commands.ts';
import { addVersionCommands } from './version-commands.ts';
import { createWithClient } from './with-client.ts';

const MORE_HELP = `
To begin:
  turnfold demo                                      see it work; needs nothing else
  turnfold dev                                       talk to an agent
  turnfold worker --agents agents.ts                 answer turns of the Redis at REDIS_URL
  turnfold enqueue talk-1 "hello" --agent <name> --wait 10
  turnfold doctor                                    see what is wrong here, and what to do

Environment (all of it: turnfold config print; in a file: docs/reference/configuration.md):
  REDIS_URL, or REDIS_URL_FILE                       redis://[user:password@]host[:port][/database]
                                                     redis+sentinel://[user:password@]host[:port],…/master[/database]
                                                     redis+cluster://[user:password@]host[:port],…
                                                     rediss for TLS
  REDIS_CA_FILE, REDIS_CERT_FILE, REDIS_KEY_FILE     for TLS: whom to trust, our own certificate, its key
  TURNFOLD_SHARDS, TURNFOLD_QUEUE_SHARDS             the same for all processes of a database (256, 1)
  TURNFOLD_{TURN,COMPACTION,SUMMARIZATION}_CONCURRENCY
                                                     jobs at a time in a worker, by role (50, 10, 10)
  TURNFOLD_METRICS_HOST, TURNFOLD_METRICS_PORT       a worker's /metrics, /health and /ready (127.0.0.1, 9464)
  TURNFOLD_SHUTDOWN_MS                               what a worker has to finish in after SIGTERM (10000)
  TURNFOLD_LOG_LEVEL                                 debug, info, warn, error or silent (info)
  LOG_CONTENT, TURNFOLD_TRACE_CONTENT                true: what was said is logged, and put into spans (false)`;

/**
 * Runs one command line, in this process.
 * @param args what follows the program's name
 * @returns the exit code
 */
export async function runCommandLine(args: readonly string[], output: Output): Promise<number> {
  const isJson = asksJson(args);
  const writeErr = isJson ? () => undefined : (text: string) => output.note(text.replace(/\n$/, ''));
  // Each command is loaded when it is called: help is there after 0.16 s, not 0.5 s with Redis, queue and tools of all.
  const program = new Program('turnfold');
  program
    .exitOverride()
    .configureOutput({ writeOut: output.text, writeErr })
    .description('Durable turns for LLM agents on Node and Redis, with compaction that keeps every context small.')
    .version(readPackageFacts().version)
    .enablePositionalOptions() // behind a command, --version is that command's own
    .showHelpAfterError('(--help says how)')
    .addHelpText('after', MORE_HELP);
  addProcessCommands(program, output);
  addRedisCommands(program, output);
  addOfflineCommands(program, output);
  addCheckCommands(program, output);
  tab(program);
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    return reportUsage(output, error, isJson);
  }
  return program.exitCode;
}

/** Commands that talk to the Redis of `REDIS_URL`. */
export function addRedisCommands(program: Command, output: Output): void {
  const withClient = createWithClient(output);
  addTurnCommands(program, withClient);
  addVersionCommands(program, withClient);
  addConversationCommands(program, withClient);
}

/** Whether JSON is asked for: known before the command line is understood, and where it cannot be. */
export function asksJson(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return args.slice(0, end === -1 ? undefined : end).includes('--json');
}

/** Tells what is wrong with a command line, where nobody has yet: to people commander does. @returns the exit code */
export function reportUsage(output: Output, error: unknown, isJson: boolean): number {
  if (!(error instanceof CommanderError)) return reportError(output, error, isJson);
  if (isJson && error.exitCode !== 0) {
    // Help that was not asked for: a command is missing, or unknown.
    const said = error.code === 'commander.help' ? 'expected a command: turnfold help lists them' : error.message;
    const message = said.replace(/^error: /, '');
    const [, option, argument] = /option '(--[\w-]+)|argument '(\w+)'/.exec(message) ?? [];
    const field = option ?? argument;
    reportError(output, new TurnfoldError('invalid_input', message, field === undefined ? {} : { field }), isJson);
  }
  return error.exitCode;
}

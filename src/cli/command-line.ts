import tab from '@bomb.sh/tab/commander';
import { Command, CommanderError } from 'commander';
import { TurnfoldError } from '../domain/errors.ts';
import { readPackageFacts } from '../host/package-facts.ts';
import { addPrefixOption } from './command-options.ts';
import { addAgentAndWorkerCommands, addCheckCommands, addOfflineCommands } from './local-commands.ts';
import { type Output, reportError } from './output.ts';
import { addRedisCommands } from './redis-commands.ts';
import { CommandRunner } from './run-command.ts';

const ABOUT = [
  'Durable turns for LLM agents on Node and Redis, with compaction of long conversations.',
  '',
  'A turn is one message to an agent and its answer.',
  'The context is what the model gets of a conversation: its messages, older ones summarized or left out.',
  'Each compaction of the context makes a new version.',
].join('\n');

const MORE_HELP = [
  '',
  'Start here:',
  '  turnfold demo                                      watch a compaction (needs nothing else)',
  '  turnfold dev                                       chat with an agent',
  '  turnfold worker --agents agents.ts                 run workers on the Redis at REDIS_URL',
  '  turnfold enqueue talk-1 "hello" --agent <name> --wait 10',
  '  turnfold doctor                                    find problems and remedies',
  '',
  'Environment variables (full list: turnfold config print and docs/reference/configuration.md):',
  '  REDIS_URL, or REDIS_URL_FILE                       redis://[user:password@]host[:port][/database]',
  '                                                     redis+sentinel://[user:password@]host[:port],…/master[/database]',
  '                                                     redis+cluster://[user:password@]host[:port],…',
  '                                                     rediss for TLS',
  '  REDIS_CA_FILE, REDIS_CERT_FILE, REDIS_KEY_FILE     TLS: trusted authorities, client certificate and its key',
  '  TURNFOLD_PREFIX                                    separates applications that share a Redis (tf)',
  '  TURNFOLD_SHARDS, TURNFOLD_QUEUE_SHARDS             shards, the same for all processes of a database (256, 1)',
  '  TURNFOLD_{TURN,COMPACTION,SUMMARIZATION}_CONCURRENCY',
  '                                                     jobs in parallel per worker and role (50, 10, 10)',
  '  TURNFOLD_METRICS_HOST, TURNFOLD_METRICS_PORT       address of /metrics, /health and /ready (127.0.0.1, 9464)',
  '  TURNFOLD_SHUTDOWN_MS                               time to hand back work after SIGTERM (10000)',
  '  TURNFOLD_LOG_LEVEL                                 debug, info, warn, error or silent (info)',
  '  LOG_CONTENT, TURNFOLD_TRACE_CONTENT                true: put message contents into logs and spans (false)',
].join('\n');

/** @param args without the name of the program. @returns the exit code */
export async function runCommandLine(args: readonly string[], output: Output): Promise<number> {
  const isJson = asksJson(args);
  const writeErr = isJson ? () => undefined : (text: string) => output.note(text.replace(/\n$/, ''));
  const program = new Command('turnfold');
  const runner = new CommandRunner(output);
  program
    .exitOverride()
    .configureOutput({ writeOut: output.text, writeErr })
    .description(ABOUT)
    .version(readPackageFacts().version)
    .enablePositionalOptions() // allows `--version` as an option of `show`
    .showHelpAfterError('(see --help)')
    .addHelpText('after', MORE_HELP);
  addCommands(program, runner);
  program.commandsGroup('Shell:').helpCommand('help [command]', 'print the help of a command');
  tab(program);
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    return reportUsage(output, error, isJson);
  }
  return runner.exitCode;
}

export function addCommands(program: Command, runner: CommandRunner): void {
  addAgentAndWorkerCommands(program, runner);
  addRedisCommands(program, runner);
  addPrefixOption(program.commands);
  addOfflineCommands(program, runner);
  addCheckCommands(program, runner);
}

/** True if the arguments ask for JSON, even in an invalid command line. */
export function asksJson(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return args.slice(0, end === -1 ? undefined : end).includes('--json');
}

/** Without `--json`, commander has printed the error already. @returns the exit code */
function reportUsage(output: Output, error: unknown, isJson: boolean): number {
  if (!(error instanceof CommanderError)) return reportError(output, error, isJson);
  if (isJson && error.exitCode !== 0) {
    const isHelp = error.code === 'commander.help';
    const message = isHelp ? 'expected a command, see turnfold help' : error.message.replace(/^error: /, '');
    // The error of commander names the option or argument only in its message.
    const [, option, argument] = /option '(--[\w-]+)|argument '(\w+)'/.exec(message) ?? [];
    const field = option ?? argument;
    reportError(output, new TurnfoldError('invalid_input', message, field === undefined ? {} : { field }), isJson);
  }
  return error.exitCode;
}

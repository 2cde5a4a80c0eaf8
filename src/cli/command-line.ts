import tab from '@bomb.sh/tab/commander';
import { addCheckCommands } from './check-commands.ts';
import { addOfflineCommands } from './offline-commands.ts';
import type { Output } from './output.ts';
import { readPackageFacts } from './package-facts.ts';
import { addProcessCommands } from './process-commands.ts';
import { addRedisCommands } from './redis-commands.ts';
import { asksJson, reportUsage } from './report-usage.ts';
import { Program } from './run-command.ts';

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

import type { Command } from 'commander';
import {
  addPrefixOption,
  readCount,
  readNumber,
  withAllowedHostsOption,
  withContextOption,
  withFileOptions,
  withHostOptions,
  withJsonOption,
} from './command-options.ts';
import type { CommandRunner } from './run-command.ts';

/** Copy of the names of all roles, because loading `workers-options` would slow down `--help`. */
const ALL_ROLES = 'turn,compaction,summarization';
const FORMATS = 'anthropic, openai-chat or openai-responses';
const LINES = 'one JSON line per conversation';
const HTML = 'also write a report with plots to this HTML file';

export function addAgentAndWorkerCommands(program: Command, runner: CommandRunner): void {
  program.commandsGroup('Agents and workers:');
  withJsonOption(program.command('demo'), 'one JSON line at the end, and everything else to standard error')
    .description('watch an agent with real tools while its context is compacted (needs no API key)')
    .option('--model <name>', 'provider/model to use instead of the scripted one (API key from the environment)')
    .option('--file <jsonl>', 'play back the first conversation of this JSONL file instead')
    .option('--inspect', 'then keep Redis, and serve the inspector with the conversation until Ctrl-C')
    .option('--allow-changes', 'let the inspector change the conversation (default: it only reads)')
    .action(runner.local(async () => (await import('./commands/demo.ts')).runDemo));
  const dev = program
    .command('dev')
    .description('chat with an agent: all workers in one process, on REDIS_URL or a temporary Redis')
    .option('--agents <file>', 'module that exports `agents` (default: a built-in agent that needs no API key)')
    .option('--agent <name>', 'agent to chat with (default: the first agent of the module)')
    .option('--model <name>', 'provider/model to use instead of the agents’ own (API key from the environment)')
    .option('--conversation <id>', 'id of the conversation to chat in', 'dev')
    .option('--serve <port>', 'serve HTTP for chat pages on this port instead of a prompt', readNumber)
    .option('--page <folder>', 'folder of a built page to serve, e.g. examples/chat/dist');
  withPolicyOptions(withContextOption(dev)).action(
    runner.local(async () => (await import('./commands/dev.ts')).runDev),
  );
  const worker = program
    .command('worker')
    .description('run turns, compaction passes and summaries until SIGTERM')
    .requiredOption('--agents <file>', 'module that exports `agents` (required)')
    .option('--roles <list>', 'roles of this process, comma-separated', ALL_ROLES);
  withPolicyOptions(worker).action(runner.local(async () => (await import('./commands/worker.ts')).runWorker));
  program
    .command('mcp')
    .description(
      'serve MCP over standard input and output: lets a coding agent ask why a conversation forgot something',
    )
    .option('--agents <names>', 'also let the client send messages to these agents, comma-separated')
    .option('--tenant <id>', 'tenant to serve from REDIS_URL (default: _)')
    .option('--url <url>', 'turnfold serve to use instead of TURNFOLD_URL or REDIS_URL, with the key of TURNFOLD_KEY')
    .option('--port <n>', 'serve MCP over HTTP on this port of this machine instead', readNumber)
    .action(runner.local(async () => (await import('./commands/mcp.ts')).runMcp));
  const serve = withHostOptions(program.command('serve'), 8700)
    .description('answer HTTP requests of services and chat pages until SIGTERM, without --keys on this machine only')
    .option('--agent <name>', 'agent of the protocols of front-ends: the AI SDK, AG-UI and Open Responses')
    .option('--while-waiting <how>', 'a chat message while calls wait: refuse, deny, steer or enqueue', 'refuse')
    .option('--on-abort <how>', 'a run of AG-UI whose client leaves its stream: cancel or continue', 'cancel')
    .option('--page <folder>', 'folder of a built page to serve beside the routes')
    .option('--inspect', 'serve the inspector under /inspect. Its requests need the same keys and scopes')
    .option(
      '--mcp [agents]',
      'serve MCP under /mcp: tools that read, and one for each of these agents, comma-separated',
    );
  withAllowedHostsOption(serve)
    .option('--cors <origins>', 'origins of web pages that may send requests, comma-separated (with --keys, * for all)')
    .option('--max-readers <n>', 'maximum number of streams and waiting requests', readCount)
    .option('--metrics-port <n>', 'port of /metrics, /health and /ready (0 takes any free port)', readNumber, 9465)
    .action(runner.local(async () => (await import('./commands/serve.ts')).runServe));
}

function withPolicyOptions(command: Command): Command {
  return command
    .option('--policy <file>', 'policy file (YAML) whose settings the agents’ own policies override')
    .option('--shadow <file>', 'second policy file (YAML) that every compaction pass measures and never commits');
}

/**
 * Adds the commands that need no Redis. Only `compact` calls models, and only if its policy names summarizer models.
 */
export function addOfflineCommands(program: Command, runner: CommandRunner): void {
  program.commandsGroup('Files (no Redis needed, - is standard input):');
  withFileOptions(withJsonOption(program.command('plan <file>'), LINES))
    .description('show what a compaction would do with each conversation of a file')
    .option('--policy <file>', 'policy file (YAML)')
    .option('--html <file>', HTML)
    .action(runner.local(async () => (await import('./commands/plan.ts')).planFile));
  withFileOptions(withJsonOption(program.command('compact <file>'), `${LINES} with its messages`))
    .description('compact each conversation of a file once and report the result')
    .option('--policy <file>', 'policy file (YAML). Its summarizer models are called and cost money')
    .option('--summarizer <name>', 'only `structural`: call no model, whatever the policy says')
    .option('--window <tokens>', 'maximum tokens of a request', readCount)
    .action(runner.local(async () => (await import('./commands/compact.ts')).compactFile));
  withFileOptions(withJsonOption(program.command('replay <file>'), LINES))
    .description('replay each conversation of a file and compact it as workers would')
    .option('--policy <file>', 'policy file (YAML)')
    .option('--against <file>', 'second policy file (YAML) to compare with')
    .option('--window <tokens>', 'maximum tokens of a request (default: twice maxTokens)', readCount)
    .option('--model <name>', 'provider/model of the catalogue, for window, tokenizer and prices')
    .option('--html <file>', HTML)
    .action(runner.local(async () => (await import('./commands/replay.ts')).replayFile));
  withJsonOption(program.command('tokens <file>'))
    .description('count the tokens of a text file')
    .option('--encoding <name>', 'o200k_base or cl100k_base', 'o200k_base')
    .action(runner.local(async () => (await import('./commands/wire.ts')).countFile));
  program
    .command('render <file>')
    .description('print the provider request for each conversation of a JSONL file')
    .requiredOption('--format <name>', FORMATS)
    .option('--model <name>', "provider's name of the model (default: the one that answered last)")
    .option('--system <text>', 'system prompt of the agent')
    .action(runner.local(async () => (await import('./commands/wire.ts')).renderFile));
  withJsonOption(program.command('validate <file>'))
    .description('list the format rules that a request body breaks (exit code 1 if any)')
    .requiredOption('--format <name>', FORMATS)
    .action(runner.local(async () => (await import('./commands/wire.ts')).validateFile));
}

/** Adds the commands that check an installation. Only `quarantine restore` and `quarantine drop` write to Redis. */
export function addCheckCommands(program: Command, runner: CommandRunner): void {
  program.commandsGroup('Problems and settings:');
  const doctor = withJsonOption(program.command('doctor'))
    .description('check this machine, its Redis and its settings, and suggest remedies (exit code 1 if a check fails)')
    .option(
      '--redis <url>',
      'check this Redis instead of REDIS_URL (a password on a command line is visible in the process list)',
    )
    .option('--providers', 'also call the model providers whose keys are set (costs no tokens)')
    .option('--agents <file>', 'module that exports `agents`, to report models that are retired soon')
    .action(runner.local(async () => (await import('./commands/doctor.ts')).runDoctor));
  const quarantine = withJsonOption(program.command('quarantine'), 'JSON lines')
    .description('list quarantined Redis records, and restore or drop one')
    .action(runner.local(async () => (await import('./commands/doctor.ts')).showQuarantined));
  quarantine
    .command('restore <shard> <name>')
    .description('put a repaired record back, so that the sweeper processes it')
    .action(runner.local(async () => (await import('./commands/doctor.ts')).restoreRecord));
  quarantine
    .command('drop <shard> <name>')
    .description('delete a record permanently')
    .action(runner.local(async () => (await import('./commands/doctor.ts')).dropRecord));
  addPrefixOption([doctor, quarantine]);
  addConfigCommands(program.command('config').description('check, print or describe the settings'), runner);
}

function addConfigCommands(config: Command, runner: CommandRunner): void {
  withJsonOption(config.command('check'))
    .description('report every setting, policy and agent that a worker would refuse (exit code 1 if there is one)')
    .option('--policy <file>', 'policy file (YAML)')
    .option('--shadow <file>', 'second policy file (YAML) that workers measure and never commit')
    .option('--agents <file>', 'module that exports `agents`')
    .option(
      '--roles <list>',
      'roles of the workers, comma-separated (only summarization needs summarizer models)',
      ALL_ROLES,
    )
    .action(runner.local(async () => (await import('./commands/config.ts')).checkConfig));
  withJsonOption(config.command('print'))
    .description('print every setting with its value and origin (secrets are masked)')
    .action(runner.local(async () => (await import('./commands/config.ts')).printConfig));
  config
    .command('schema [what]')
    .description('print a JSON Schema for editors, of `settings` (the environment) or `policy` (a policy file)')
    .action(runner.local(async () => (await import('./commands/config.ts')).printSchema));
}

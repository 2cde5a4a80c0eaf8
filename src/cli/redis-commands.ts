import type { Command } from 'commander';
import { WRITTEN_FORMATS } from '../wire/histories/writers/written-formats.ts';
import {
  addPath,
  readCount,
  readNumber,
  readSeconds,
  withAllowedHostsOption,
  withContextOption,
  withFileOptions,
  withHostOptions,
  withJsonOption,
} from './command-options.ts';
import type { CommandRunner } from './run-command.ts';

export function addRedisCommands(program: Command, runner: CommandRunner): void {
  program.commandsGroup('Turns:');
  addTurnCommands(program, runner);
  addFailureCommands(program, runner);
  program.commandsGroup('Conversations:');
  addConversationCommands(program, runner);
  addAboutCommands(program, runner);
  program.commandsGroup('Versions of a context:');
  addVersionCommands(program, runner);
  addReplacingCommands(program, runner);
  program.commandsGroup('Review of compactions:');
  addReviewCommands(program, runner);
  program.commandsGroup('Other services:');
  addKeyCommands(program, runner);
  addWebhookCommands(program, runner);
}

function withConversationOptions(command: Command): Command {
  return withJsonOption(command.option('--tenant <id>', 'tenant of the conversation', '_'));
}

function withWaitOption(command: Command): Command {
  return command.option(
    '--wait <seconds>',
    'wait this long for the answer (exit code 1 if there is none)',
    readSeconds,
    0,
  );
}

function withFollowOptions(command: Command): Command {
  return withWaitOption(withConversationOptions(command)).option(
    '--stream',
    'print the text while the model writes it, until the turn settles or --wait is over',
  );
}

function withListOptions(command: Command, items: string): Command {
  const listed = command
    .option('--tenant <id>', `only ${items} of this tenant (default: all tenants)`)
    .option('--limit <n>', `maximum number of ${items}`, readNumber, 100);
  return withJsonOption(listed, 'JSON lines');
}

const PRIORITY_OPTION = ['--priority <n>', 'priority of the conversation in the queue: 1 is first', readCount] as const;
const ENQUEUE_NAMES = { input: 'text', parts: '--file', delayMs: '--delay', deadlineMs: '--deadline' };

function addTurnCommands(program: Command, runner: CommandRunner): void {
  withContextOption(withFollowOptions(program.command('enqueue <conversation> <text>')))
    .description('send a message to an agent (a turn), and wait for its answer if --wait or --stream is given')
    .requiredOption('--agent <name>', 'agent that answers the turn (required)')
    .option('--turn <id>', 'turn id: the same id again returns the same turn')
    .option('--on-busy <how>', 'if another turn is open: enqueue, reject, interrupt, rollback or steer')
    .option('--busy-turn <id>', 'turn that --on-busy is meant for: if another one is first, the new turn is enqueued')
    .option('--delay <period>', 'time until the turn may start: 90s, 30m, 2h or 7d')
    .option('--deadline <period>', 'time in which the turn must be settled: 90s, 30m, 2h or 7d')
    .option('--max-turn-tokens <n>', 'maximum tokens of all model calls of the turn', readCount)
    .option('--file <path>', 'picture, PDF or text file, as often as needed (- is standard input)', addPath)
    .option('--tools <file>', 'JSON file with a list of tools that you answer: [{name, description, parameters}]')
    .option('--instructions <text>', 'further instructions for this turn')
    .option('--answer <file>', 'JSON file with the JSON Schema of the answer')
    .option('--tool-choice <how>', 'use of tools: auto, none or required')
    .option('--max-output-tokens <n>', 'maximum output tokens of each model call', readCount)
    .option('--metadata <json>', 'names and values that are shown with the turn')
    .option('--owner <id>', 'owner of a new conversation: a conversation of another owner is refused')
    .option('--title <text>', 'title of a new conversation (default: the first words of the text)')
    .option('--max-queued-turns <n>', 'refuse the turn if so many turns are queued', readCount)
    .option(...PRIORITY_OPTION)
    .action(runner.onRedis(async () => (await import('./commands/turns.ts')).enqueue, ENQUEUE_NAMES));
  withFollowOptions(program.command('result <conversation> <turn>'))
    .description('show the state of a turn: its answer, its failure or the calls that it waits for')
    .action(runner.onRedis(async () => (await import('./commands/follow-turn.ts')).showTurn));
  withConversationOptions(program.command('turns <conversation>'))
    .description('list the open turns of a conversation in the order of execution')
    .option('--limit <n>', 'maximum number of turns', readNumber, 100)
    .action(runner.onRedis(async () => (await import('./commands/turns.ts')).showOpen));
  withConversationOptions(program.command('answer <conversation> <turn> <call>'))
    .description('answer a call that a turn waits for, with a tool result or an approval')
    .option('--content <text>', 'result of the tool')
    .option('--file <path>', 'file with the result of the tool (- is standard input)')
    .option('--error', 'mark the result as an error of the tool')
    .option('--approve', 'allow the call')
    .option('--deny [why]', 'deny the call')
    .option('--hash <hash>', 'hash of the call, so that no other call with this id is answered')
    .option('--by <name>', 'name of the person who answers, shown with the decision')
    .action(runner.onRedis(async () => (await import('./commands/turns.ts')).answer));
  withConversationOptions(program.command('cancel <conversation> <turn>'))
    .description('cancel an open turn, even while it runs')
    .action(runner.onRedis(async () => (await import('./commands/turns.ts')).cancel));
  withListOptions(program.command('waiting'), 'turns')
    .description('list turns of all conversations that wait for a tool result or an approval')
    .option('--for <kind>', 'only turns that wait for `tools` or for `approval`')
    .option('--after <place>', 'continue after the place where an earlier list ended')
    .action(runner.onRedis(async () => (await import('./commands/conversations.ts')).showWaiting));
}

function addFailureCommands(program: Command, runner: CommandRunner): void {
  withListOptions(program.command('failed'), 'turns')
    .description('list the failed turns of the last seven days, newest first')
    .option('--code <code>', 'only turns that failed with this error code, such as poison')
    .option('--since <when>', 'only turns that failed since then: 90s, 30m, 2h, 7d or a date')
    .action(runner.onRedis(async () => (await import('./commands/turns.ts')).showFailed));
  withContextOption(withWaitOption(withConversationOptions(program.command('redrive <conversation> [turn]'))))
    .description('enqueue the input of a failed turn as a new turn, or request a compaction if no turn is named')
    .option('--operation <id>', 'operation id: a new id re-drives the same turn once more')
    .option(...PRIORITY_OPTION)
    .action(runner.onRedis(async () => (await import('./commands/turns.ts')).redrive));
}

function addConversationCommands(program: Command, runner: CommandRunner): void {
  withAllowedHostsOption(withHostOptions(program.command('inspect'), 8710))
    .description('serve a page that shows what each agent still knows, and why, until Ctrl-C')
    .option('--allow-changes', 'let the page compact, restore, fork, approve and answer (default: it only reads)')
    .action(runner.onRedis(async () => (await import('./commands/inspect.ts')).runInspect));
  withListOptions(program.command('conversations'), 'conversations')
    .description('list conversations with their states')
    .option('--agent <name>', 'only conversations of this agent')
    .option('--state <state>', 'only conversations in this state: idle, queued, running, waiting or failed')
    .option('--owner <id>', 'only conversations of this owner, newest first (--tenant: the default tenant)')
    .option('--metadata <name=value>', 'only conversations whose metadata have this value')
    .option('--order <order>', 'stable, or newest: by the time of the last message (--tenant: the default tenant)')
    .option('--after <place>', 'continue after the place where an earlier list ended')
    .action(runner.onRedis(async () => (await import('./commands/conversations.ts')).showConversations));
  withConversationOptions(program.command('describe <conversation>'))
    .description('show agent, size, live version, open turns and the pass in progress (without messages)')
    .action(runner.onRedis(async () => (await import('./commands/conversations.ts')).describe));
  withConversationOptions(program.command('events <conversation>'))
    .description('list the events of the last day (turns, versions, proposals), oldest first')
    .option('--after <id>', 'only events after this one')
    .option('--follow', 'keep printing new events until interrupted')
    .action(runner.onRedis(async () => (await import('./commands/conversations.ts')).showEvents));
  withFileOptions(withConversationOptions(program.command('import <file>')))
    .description(
      'create each conversation of a file, in the format of turnfold or of another program (- is standard input)',
    )
    .requiredOption('--agent <name>', 'agent of the new conversations (required)')
    .action(runner.onRedis(async () => (await import('./commands/transfer.ts')).importFile));
  withConversationOptions(program.command('export <conversation>'))
    .description('print the whole log as one JSONL line, archived messages included')
    .option('--to <format>', `print it in the format of another program: ${WRITTEN_FORMATS.join(', ')}`)
    .action(runner.onRedis(async () => (await import('./commands/transfer.ts')).exportConversation));
  withConversationOptions(program.command('fork <conversation> <new>'))
    .description('copy a conversation into a new one (the same command resumes an interrupted copy)')
    .option('--version <n>', 'copy the context of this kept version instead of the live one', readNumber)
    .option('--head <seq>', 'copy messages up to this seq instead of all', readNumber)
    .action(
      runner.onRedis(async () => (await import('./commands/conversations.ts')).fork, {
        from: 'conversation',
        to: 'new',
      }),
    );
  withConversationOptions(program.command('erase <conversation>'))
    .description('delete a conversation permanently: log, versions, turns and summaries')
    .requiredOption('--yes', 'confirm that the conversation cannot be recovered (required)')
    .action(runner.onRedis(async () => (await import('./commands/conversations.ts')).erase));
}

function addAboutCommands(program: Command, runner: CommandRunner): void {
  withConversationOptions(program.command('update <conversation>'))
    .description('change owner, title or metadata of a conversation (an empty text removes the value)')
    .option('--owner <id>', 'owner of the conversation')
    .option('--title <text>', 'title of the conversation')
    .option('--metadata <json>', 'names and values, instead of the earlier ones')
    .action(runner.onRedis(async () => (await import('./commands/conversation-about.ts')).update));
  withConversationOptions(program.command('token <conversation>'))
    .description('print a token that reaches only this conversation, for a browser')
    .option('--scopes <list>', 'rights of the token, comma-separated: read, enqueue, answer (default: all three)')
    .option('--expires <time>', 'time until the token expires, at most a day: 90s, 30m or 2h', '1h')
    .option('--owner <id>', 'owner that the conversation gets if the bearer creates it')
    .action(
      runner.onRedis(async () => (await import('./commands/conversation-about.ts')).createToken, {
        expiresInMs: '--expires',
      }),
    );
  withJsonOption(program.command('rotate-token-secret'))
    .description('replace the secret that signs the tokens of conversations')
    .option('--tenant <id>', 'tenant whose tokens are signed', '_')
    .option('--grace <time>', 'time for which earlier tokens stay valid (0s ends all of them)', '1d')
    .action(
      runner.onRedis(async () => (await import('./commands/conversation-about.ts')).rotateTokenSecret, {
        graceMs: '--grace',
      }),
    );
}

function addVersionCommands(program: Command, runner: CommandRunner): void {
  withConversationOptions(program.command('show <conversation>'))
    .description('show the context that the model would get')
    .option('--version <n>', 'show this kept version instead of the live one', readNumber)
    .option('--full', 'print whole messages instead of one line each')
    .action(runner.onRedis(async () => (await import('./commands/show.ts')).showContext));
  withConversationOptions(program.command('versions <conversation>'))
    .description('list the kept versions of a conversation, oldest first')
    .action(runner.onRedis(async () => (await import('./commands/show.ts')).showVersions));
  withConversationOptions(program.command('diff <conversation>'))
    .description('show how the context changed from one version to another')
    .argument('<from>', 'number of a kept version (0 is the whole log)', readNumber)
    .argument('<to>', 'number of another kept version', readNumber)
    .action(runner.onRedis(async () => (await import('./commands/show.ts')).showDiff, { before: 'from', after: 'to' }));
}

const OPERATION = 'operation id: the same id again changes nothing';

function addReplacingCommands(program: Command, runner: CommandRunner): void {
  const withReplacementOptions = (command: Command): Command =>
    withConversationOptions(command)
      .option('--operation <id>', OPERATION)
      .option('--agents <module>', 'module that exports `agents`: refuse a context over the hard limit of the agent')
      .option('--policy <file>', 'policy file (YAML) of the workers');
  withReplacementOptions(program.command('restore <conversation>'))
    .description('make a kept version the live one')
    .requiredOption('--version <n>', 'number of the kept version, 0 for the whole log (required)', readNumber)
    .option('--keep', 'keep newer messages in the context (--keep or --drop is required)')
    .option('--drop', 'remove newer messages from the context, except pinned ones (the log keeps them)')
    .action(runner.onRedis(async () => (await import('./commands/decisions.ts')).restore));
  withReplacementOptions(program.command('rollback <conversation> <turn>'))
    .description('remove a settled turn and everything after it from the context (the log keeps them)')
    .action(runner.onRedis(async () => (await import('./commands/decisions.ts')).rollBackTo, { version: 'turn' }));
}

function addReviewCommands(program: Command, runner: CommandRunner): void {
  const withDecisionOptions = (command: Command): Command =>
    withConversationOptions(command)
      .option('--proposal <id>', 'id of the expected proposal: the command fails if another proposal waits by now')
      .option('--operation <id>', `${OPERATION} and reports the outcome`)
      .option('--wait <seconds>', 'wait this long for a worker to act (exit code 1 if none does)', readSeconds, 10);
  withConversationOptions(program.command('proposal <conversation>'))
    .description('show the proposal that waits for approval')
    .action(runner.onRedis(async () => (await import('./commands/decisions.ts')).showProposal));
  withDecisionOptions(program.command('approve <conversation>'))
    .description('approve a proposal, so that a worker commits it')
    .option('--edits <file>', 'file with replacement texts for summaries by range (YAML or JSON)')
    .action(runner.onRedis(async () => (await import('./commands/decisions.ts')).approve));
  withDecisionOptions(program.command('reject <conversation>'))
    .description('reject a proposal, which ends its pass')
    .option('--reason <text>', 'reason, kept for a day among the events of the conversation')
    .action(runner.onRedis(async () => (await import('./commands/decisions.ts')).reject));
}

function addKeyCommands(program: Command, runner: CommandRunner): void {
  const keys = program.command('keys').description('create, list, rotate or revoke the access keys of services');
  withJsonOption(keys.command('create'))
    .description('create a key for one tenant, and print its token once')
    .requiredOption('--scopes <list>', 'rights of the key, comma-separated: read, enqueue, answer, admin (required)')
    .option('--tenant <id>', 'tenant that the key reaches', '_')
    .option('--expires <time>', 'time until the key expires: 90s, 30m, 2h or 90d (default: never)')
    .option('--name <text>', 'name for people who list keys')
    .action(runner.onRedis(async () => (await import('./commands/access.ts')).createKey, { expiresInMs: '--expires' }));
  withJsonOption(keys.command('list'), 'JSON lines')
    .description('list the keys, without secrets')
    .option('--tenant <id>', 'only keys of this tenant (default: all tenants)')
    .action(runner.onRedis(async () => (await import('./commands/access.ts')).listKeys));
  withJsonOption(keys.command('rotate <key>'))
    .description('give a key a new secret, and print its new token once')
    .option('--grace <time>', 'time for which the previous secret stays valid', '1d')
    .action(
      runner.onRedis(async () => (await import('./commands/access.ts')).rotateKey, { id: 'key', graceMs: '--grace' }),
    );
  withJsonOption(keys.command('revoke <key>'))
    .description('revoke a key for good')
    .action(runner.onRedis(async () => (await import('./commands/access.ts')).revokeKey, { id: 'key' }));
}

function addWebhookCommands(program: Command, runner: CommandRunner): void {
  const webhooks = program.command('webhooks').description('add, list, remove, retry or test the webhooks of tenants');
  withJsonOption(webhooks.command('add <url>'))
    .description('send the events of a tenant to an address, and print the secret of the signatures once')
    .option('--tenant <id>', 'tenant whose events are sent', '_')
    .option('--events <list>', 'comma-separated: turn.settled, turn.waiting, version.committed (default: all)')
    .option('--agent <name>', 'only conversations of this agent')
    .action(runner.onRedis(async () => (await import('./commands/access.ts')).addWebhook));
  withJsonOption(webhooks.command('list'), 'JSON lines')
    .description('list the webhooks with their failures, without secrets')
    .option('--tenant <id>', 'only webhooks of this tenant (default: all tenants)')
    .action(runner.onRedis(async () => (await import('./commands/access.ts')).listWebhooks));
  withJsonOption(webhooks.command('remove <webhook>'))
    .description('remove a webhook with its unsent events')
    .action(runner.onRedis(async () => (await import('./commands/access.ts')).removeWebhook, { id: 'webhook' }));
  withJsonOption(webhooks.command('retry <webhook>'))
    .description('send events again to a webhook that was set aside after failures')
    .action(runner.onRedis(async () => (await import('./commands/access.ts')).retryWebhook, { id: 'webhook' }));
  withJsonOption(webhooks.command('test <webhook>'))
    .description('let a worker send a signed test event, and print the outcome (exit code 1 unless it is delivered)')
    .action(runner.onRedis(async () => (await import('./commands/access.ts')).testWebhook, { id: 'webhook' }));
}

import type { Command } from 'commander';
import { withJsonOption } from './command-options.ts';
import type { CommandRunner } from './run-command.ts';

/** Defines the commands for other services: keys with which they call us, and webhooks with which we call them. */
export function addAccessCommands(program: Command, runner: CommandRunner): void {
  program.commandsGroup('Other services:');
  addKeyCommands(program, runner);
  addWebhookCommands(program, runner);
}

function addKeyCommands(program: Command, runner: CommandRunner): void {
  const keys = program.command('keys').description('create, list, rotate or revoke the access keys of services');
  withJsonOption(keys.command('create'))
    .description('create a key for one tenant, and print its token once')
    .requiredOption('--scopes <list>', 'rights of the key, comma-separated: read, enqueue, answer, admin (required)')
    .option('--tenant <id>', 'tenant that the key reaches', '_')
    .option('--expires <time>', 'time until the key expires: 90s, 30m, 2h or 90d (default: never)')
    .option('--name <text>', 'name for people who list keys')
    .action(runner.onRedis(async () => (await import('./commands/keys.ts')).createKey, { expiresInMs: '--expires' }));
  withJsonOption(keys.command('list'), 'JSON lines')
    .description('list the keys, without secrets')
    .option('--tenant <id>', 'only keys of this tenant (default: all tenants)')
    .action(runner.onRedis(async () => (await import('./commands/keys.ts')).listKeys));
  withJsonOption(keys.command('rotate <key>'))
    .description('give a key a new secret, and print its new token once')
    .option('--grace <time>', 'time for which the previous secret stays valid', '1d')
    .action(
      runner.onRedis(async () => (await import('./commands/keys.ts')).rotateKey, { id: 'key', graceMs: '--grace' }),
    );
  withJsonOption(keys.command('revoke <key>'))
    .description('revoke a key for good')
    .action(runner.onRedis(async () => (await import('./commands/keys.ts')).revokeKey, { id: 'key' }));
}

function addWebhookCommands(program: Command, runner: CommandRunner): void {
  const webhooks = program.command('webhooks').description('add, list, remove or retry the webhooks of tenants');
  withJsonOption(webhooks.command('add <url>'))
    .description('send the events of a tenant to an address, and print the secret of the signatures once')
    .option('--tenant <id>', 'tenant whose events are sent', '_')
    .option('--events <list>', 'comma-separated: turn.settled, turn.waiting, version.committed (default: all)')
    .option('--agent <name>', 'only conversations of this agent')
    .action(runner.onRedis(async () => (await import('./commands/webhooks.ts')).addWebhook));
  withJsonOption(webhooks.command('list'), 'JSON lines')
    .description('list the webhooks with their failures, without secrets')
    .option('--tenant <id>', 'only webhooks of this tenant (default: all tenants)')
    .action(runner.onRedis(async () => (await import('./commands/webhooks.ts')).listWebhooks));
  withJsonOption(webhooks.command('remove <webhook>'))
    .description('remove a webhook with its unsent events')
    .action(runner.onRedis(async () => (await import('./commands/webhooks.ts')).removeWebhook, { id: 'webhook' }));
  withJsonOption(webhooks.command('retry <webhook>'))
    .description('send events again to a webhook that was set aside after failures')
    .action(runner.onRedis(async () => (await import('./commands/webhooks.ts')).retryWebhook, { id: 'webhook' }));
}

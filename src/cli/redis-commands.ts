import type { Command } from 'commander';
import { addConversationCommands } from './conversation-commands.ts';
import type { Output } from './output.ts';
import { addTurnCommands } from './turn-commands.ts';
import { addVersionCommands } from './version-commands.ts';
import { createWithClient } from './with-client.ts';

/** Commands that talk to the Redis of `REDIS_URL`. */
export function addRedisCommands(program: Command, output: Output): void {
  const withClient = createWithClient(output);
  addTurnCommands(program, withClient);
  addVersionCommands(program, withClient);
  addConversationCommands(program, withClient);
}

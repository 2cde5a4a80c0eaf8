#!/usr/bin/env node
import { Command } from 'commander';
import { addOfflineCommands } from './offline-commands.ts';
import { processOutput } from './output.ts';
import { addProcessCommands } from './process-commands.ts';
import { addRedisCommands } from './redis-commands.ts';

// A reader that has seen enough (`| head`) closes the pipe: that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

const program = new Command('turnfold')
  .description('Durable turns for LLM agents on Node and Redis, with compaction that keeps every context small.')
  .showHelpAfterError();
addProcessCommands(program, processOutput);
addRedisCommands(program, processOutput);
addOfflineCommands(program, processOutput);
await program.parseAsync();

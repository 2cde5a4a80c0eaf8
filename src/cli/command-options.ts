import { type Command, InvalidArgumentError } from 'commander';

/** Of every command about one conversation. */
export interface ConversationOptions {
  readonly tenant: string;
  readonly json?: boolean;
}

/** Written out: help must not load what takes them. */
export const ALL_ROLES = 'turn,compaction,summarization';

export function withConversationOptions(command: Command): Command {
  return command
    .option('--tenant <id>', 'tenant of the conversation', '_')
    .option('--json', 'print JSON, failures too');
}

export function withContextOption(command: Command): Command {
  return command.option(
    '--context <json>',
    'context of the turn, for tools and system prompts; @ and a path: from a file',
  );
}

export function readNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isInteger(value) || value < 0) {
    throw new InvalidArgumentError('expected a whole number.');
  }
  return value;
}

export function readSeconds(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= 0 && value < Number.POSITIVE_INFINITY))
    throw new InvalidArgumentError('expected a number of seconds.');
  return value;
}

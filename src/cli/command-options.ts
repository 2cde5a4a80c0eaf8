import { type Command, InvalidArgumentError } from 'commander';

/** Options of every command about one conversation. */
export interface ConversationOptions {
  readonly tenant: string;
  readonly json?: boolean;
}

/** Repeats the roles of `workers-options`, because loading that module would slow down help. */
export const ALL_ROLES = 'turn,compaction,summarization';

export function withConversationOptions(command: Command): Command {
  return command
    .option('--tenant <id>', 'tenant of the conversation', '_')
    .option('--json', 'print JSON, errors included');
}

export function withContextOption(command: Command): Command {
  return command.option('--context <json>', 'context of the turn, for tools and system prompts (@path reads a file)');
}

export function readNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isInteger(value) || value < 0) {
    throw new InvalidArgumentError('Expected a whole number of 0 or more.');
  }
  return value;
}

export function readSeconds(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= 0 && value < Number.POSITIVE_INFINITY))
    throw new InvalidArgumentError('Expected a number of seconds.');
  return value;
}

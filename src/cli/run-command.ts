import { Command } from 'commander';
import { Interruption } from './interruption.ts';
import { type Output, reportError } from './output.ts';
import { type TypedNames, wordTypedError } from './typed-errors.ts';

export interface CommandCall {
  readonly command: Command;
  readonly output: Output;
  /** Fields that the command names differently than the API. */
  readonly names?: TypedNames;
}

/** Root command that keeps the exit code of the command that ran. */
export class Program extends Command {
  exitCode = 0;
}

/** Runs a command, stores its exit code in the program, and reports its failure as text or JSON. */
export async function runCommand({ command, output, names }: CommandCall, run: () => Promise<number>): Promise<void> {
  const program = programOf(command);
  try {
    program.exitCode = await run();
  } catch (error) {
    // Interrupted work may still be in flight. It must not keep the process alive.
    if (error instanceof Interruption) process.exit(error.exitCode);
    const isJson = command.getOptionValue('json') === true;
    program.exitCode = reportError(output, wordTypedError(error, command, names), isJson);
  }
}

function programOf(command: Command): Program {
  let root = command;
  while (root.parent !== null) root = root.parent;
  if (!(root instanceof Program)) throw new TypeError(`${root.name()} keeps no exit code`);
  return root;
}

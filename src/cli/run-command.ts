import { Command } from 'commander';
import { Interruption } from './interruption.ts';
import { type Output, reportError } from './output.ts';
import { nameCommandAgain, nameTyped, type TypedNames } from './typed-errors.ts';

/** A command as it was called. */
export interface Call {
  readonly command: Command;
  readonly output: Output;
  /** what it calls otherwise than the API does */
  readonly names?: TypedNames;
}

/** A program that keeps the exit code of the command that ran. */
export class Program extends Command {
  exitCode = 0;
}

/** Runs a command, keeps its exit code in the program, and reports its failure in the words and the form that were asked for. */
export async function runCommand({ command, output, names }: Call, run: () => Promise<number>): Promise<void> {
  const program = programOf(command);
  try {
    program.exitCode = await run();
  } catch (error) {
    // What it interrupted may still be under way, and must not keep the process.
    if (error instanceof Interruption) process.exit(error.exitCode);
    program.exitCode = reportError(output, nameAsTyped(error, command, names), command.getOptionValue('json') === true);
  }
}

function programOf(command: Command): Program {
  let root = command;
  while (root.parent !== null) root = root.parent;
  if (!(root instanceof Program)) throw new TypeError(`${root.name()} keeps no exit code`);
  return root;
}

/** An error as whoever typed the command looks at it, with what to type next. */
export function nameAsTyped(error: unknown, command: Command, names?: TypedNames): unknown {
  return nameTyped(nameCommandAgain(error, command), command, names);
}

import { Interruption } from './interruption.ts';
import { nameVariable } from './name-variable.ts';
import { type Output, reportError } from './output.ts';

/** Runs a command, sets the exit code, and reports its failure in the form that was asked for. */
export async function runCommand(
  output: Output,
  isJson: boolean | undefined,
  command: () => Promise<number>,
): Promise<void> {
  try {
    process.exitCode = await command();
  } catch (error) {
    // What it interrupted may still be under way, and must not keep the process.
    if (error instanceof Interruption) process.exit(error.exitCode);
    process.exitCode = reportError(output, nameVariable(error), isJson);
  }
}

#!/usr/bin/env node
import { explainOldNode, readPackageFacts } from '../host/package-facts.ts';
import { asksJson, runCommandLine } from './command-line.ts';
import { processOutput, reportError } from './output.ts';
import { exitAfterCommand } from './process-exit.ts';

// A reader such as `head` may close standard output early. That is no error.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit();
  });
}

const tooOld = explainOldNode(process.versions.node, readPackageFacts().engines.node);
if (tooOld !== undefined) {
  processOutput.note(tooOld);
  process.exit(78); // Exit code `EX_CONFIG` of sysexits.
}

const args = process.argv.slice(2);
// Prints errors that nothing else caught, e.g. of a promise that the agents module left behind. Node would print them
// without escaping control characters.
process.on('uncaughtException', (error: unknown) => process.exit(reportError(processOutput, error, asksJson(args))));
process.exitCode = await runCommandLine(args, processOutput);
exitAfterCommand(processOutput);

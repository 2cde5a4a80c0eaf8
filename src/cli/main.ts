#!/usr/bin/env node
import { asksJson, runCommandLine } from './command-line.ts';
import { processOutput, reportError } from './output.ts';
import { explainOldNode, readPackageFacts } from './package-facts.ts';
import { exitAfterCommand } from './process-exit.ts';

// A reader such as `head` may close the pipe early. That is not an error.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit();
  });
}

const tooOld = explainOldNode(process.versions.node, readPackageFacts().engines.node);
if (tooOld !== undefined) {
  processOutput.note(tooOld);
  process.exit(78); // EX_CONFIG of sysexits
}

const args = process.argv.slice(2);
// An agents module may leave a rejected promise behind, whose error Node would print unescaped.
process.on('uncaughtException', (error: unknown) => process.exit(reportError(processOutput, error, asksJson(args))));
process.exitCode = await runCommandLine(args, processOutput);
exitAfterCommand(processOutput);

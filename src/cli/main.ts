#!/usr/bin/env node
import { asksJson, runCommandLine } from './command-line.ts';
import { processOutput, reportError } from './output.ts';
import { explainOldNode, readPackageFacts } from './package-facts.ts';
import { endBehindLoaded } from './process-exit.ts';

// A reader that has seen enough (`| head`) closes the pipe: that is no failure.
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
// A loaded module may leave a rejected promise behind. Node would print its error raw.
process.on('uncaughtException', (error: unknown) => process.exit(reportError(processOutput, error, asksJson(args))));
process.exitCode = await runCommandLine(args, processOutput);
endBehindLoaded(processOutput);

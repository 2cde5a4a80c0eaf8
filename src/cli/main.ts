#!/usr/bin/env node
import { runCommandLine } from './command-line.ts';
import { processOutput } from './output.ts';
import { explainOldNode, readPackageFacts } from './package-facts.ts';

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

process.exitCode = await runCommandLine(process.argv.slice(2), processOutput);

/**
 * Runs all gates through their npm scripts, two at a time, the slowest first. Prints one line per gate, then the output
 * of each gate that failed. `--fast` replaces the linter, which takes the longest, by the compiler with its cache.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';
import { z } from 'zod';

const gates = [
  process.argv.includes('--fast') ? 'types' : 'lint',
  'unused',
  'ceilings',
  'structure',
  'imports',
  'prose',
  'format:check',
];
const AT_ONCE = 2;

interface Verdict {
  passed: boolean;
  output: string;
}

function runScript(command: string): Promise<Verdict> {
  const path = [resolve('node_modules/.bin'), process.env['PATH']].join(delimiter);
  const child = spawn(command, { shell: true, stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, PATH: path } });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
  return new Promise((settle, reject) => {
    child.on('error', reject);
    child.on('close', (code) => settle({ passed: code === 0, output: Buffer.concat(chunks).toString() }));
  });
}

const manifest = z.object({ scripts: z.record(z.string(), z.string()) });
const { scripts } = manifest.parse(JSON.parse(readFileSync('package.json', 'utf8')));
const waiting = gates.map((gate) => {
  const command = scripts[gate];
  if (command === undefined) throw new Error(`package.json has no script "${gate}"`);
  return { gate, command };
});
const failures: string[] = [];

async function runWaiting(): Promise<void> {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const { gate, command } = next;
    const startedMs = performance.now();
    const { passed, output } = await runScript(command);
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
    console.log(`${passed ? 'pass' : 'FAIL'}  ${gate.padEnd(12)} ${seconds.padStart(5)} s  ${command}`);
    if (!passed) failures.push(`\n── ${gate}: ${command}\n${output.trimEnd()}`);
  }
}

console.log(`gates on Node ${process.version}`);
await Promise.all(Array.from({ length: AT_ONCE }, runWaiting));
for (const failure of failures) console.error(failure);
process.exitCode = failures.length === 0 ? 0 : 1;

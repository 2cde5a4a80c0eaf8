import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Each benchmark runs in its own process, so that none changes the compiler state or memory of the next. */
const BENCHMARKS = [
  'tokens',
  'loop',
  'plan',
  'replay',
  'prefix',
  'wire',
  'turns',
  'tool-results',
  'long-conversation',
  'recall',
  'memory',
  'idle',
];

const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const flags = process.argv.slice(2).filter((argument) => argument.startsWith('--'));

for (const name of BENCHMARKS.filter((known) => wanted.length === 0 || wanted.includes(known))) {
  process.stdout.write(`── ${name}\n`);
  const file = fileURLToPath(new URL(`./${name}.ts`, import.meta.url));
  const { status } = spawnSync(process.execPath, [file, ...flags], { stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0) process.exitCode = 1;
}

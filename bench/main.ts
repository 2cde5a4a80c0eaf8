/**
 * Runs benchmarks: `npm run bench [-- <name> …] [--page figures.md] [--smoke]`, by default all of them. `--page` writes
 * the output of all as one page, and `--smoke` only shows that each one still works.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

/** Each benchmark, with its options for `--smoke`. A benchmark without options has a small size of its own. */
const BENCHMARKS: Readonly<Record<string, readonly string[]>> = {
  tokens: ['--runs=1'],
  loop: [],
  plan: [],
  replay: [],
  prefix: ['--families=chat'],
  wire: [],
  turns: [],
  'tool-results': [],
  'long-conversation': [],
  recall: [],
  memory: [],
  packs: [],
  idle: ['--workers=1', '--seconds=1'],
  limits: [],
  steady: ['--rate=10', '--seconds=1', '--runs=1'],
  inspection: [],
  inspector: [],
  chunks: ['--runs=1', '--turns=20', '--seconds=1'],
  streams: ['--runs=1', '--turns=4', '--tokens=20'],
  http: ['--runs=1', '--requests=40', '--rate=20'],
  compact: [],
  inbox: ['--runs=1', '--jobs=50'],
  'queue-hour': [],
  scaling: ['--processes=1', '--seconds=1', '--runs=1'],
  failover: ['--kills=1'],
  'rolling-restarts': [],
  'newer-payloads': [],
  'redis-kill': ['--kills=1'],
  'long-turn': ['--calls=40', '--kills=1'],
};

const { values, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: {
    smoke: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    page: { type: 'string' },
  },
});
const unknown = wanted.filter((name) => !Object.hasOwn(BENCHMARKS, name));
if (unknown.length > 0)
  throw new Error(`unknown benchmark: ${unknown.join(', ')}. Known: ${Object.keys(BENCHMARKS).join(', ')}`);

interface Run {
  readonly command: string;
  readonly output: string;
  readonly load: number;
  readonly seconds: number;
}

/** Each benchmark runs in its own process, so that none changes the compiler state or memory of the next. */
async function run(name: string, smokeOptions: readonly string[]): Promise<Run> {
  const options = [...(values.smoke ? ['--smoke', ...smokeOptions] : []), ...(values.json ? ['--json'] : [])];
  const file = fileURLToPath(new URL(`./${name}.ts`, import.meta.url));
  const startedAt = performance.now();
  const child = spawn(process.execPath, [file, ...options], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    if (!values.smoke) process.stdout.write(text);
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) {
    process.exitCode = 1;
    output += `failed with exit code ${code}\n`;
  }
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  return { command: ['node', `bench/${name}.ts`, ...options].join(' '), output, load: loadavg()[0] ?? 0, seconds };
}

function writePage(runs: readonly Run[]): string {
  const [cpu] = cpus();
  const machine = `${cpus().length} × ${cpu?.model ?? 'unknown processor'}, Node ${process.versions.node}`;
  const sections = runs.map(({ command, output, load }) => {
    return `## \`${command}\`\n\nLoad average at its end: ${load.toFixed(1)}.\n\n\`\`\`text\n${output.trimEnd()}\n\`\`\`\n`;
  });
  return [`# Figures of turnfold\n\n${machine}, ${new Date().toISOString().slice(0, 10)}.\n`, ...sections].join('\n');
}

/** Without figures to disturb, benchmarks run side by side, because most of each is the start of its processes. */
const LANES = values.smoke ? 3 : 1;

const chosen = Object.entries(BENCHMARKS).filter(([name]) => wanted.length === 0 || wanted.includes(name));
const waiting = chosen.values();
const runs: Run[] = [];
async function runInTurn(): Promise<void> {
  for (const [name, smokeOptions] of waiting) {
    if (!values.smoke) process.stdout.write(`── ${name}\n`);
    const ended = await run(name, smokeOptions);
    if (values.smoke) process.stdout.write(`── ${name}, ${ended.seconds} s\n${ended.output}`);
    runs.push(ended);
    if (values.page !== undefined) writeFileSync(values.page, writePage(runs));
  }
}
await Promise.all(Array.from({ length: LANES }, runInTurn));

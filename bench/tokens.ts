/**
 * Compares the CPU time in which turnfold and three packages encode real texts as tokens: `node bench/tokens.ts [--runs 5]
 * [--json]`. Each measurement is a process of its own, which loads one encoder and encodes one text. The first time is
 * cold, with empty caches and code that is not compiled. The later times are warm. Processes of the encoders alternate,
 * so that other load on the machine slows all. Checks first that turnfold and js-tiktoken return the same ids.
 */
import { execFileSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { Tiktoken } from 'js-tiktoken/lite';
import { readDiagnostics, readTexts, readTraces } from '../test/tokens/corpus.ts';
import { sampleSize } from './sample-size.ts';
import { describeSpread, type Spread, spreadOf } from './spread.ts';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '5' },
    encoding: { type: 'string', default: 'o200k_base' },
    json: { type: 'boolean', default: false },
    smoke: { type: 'boolean', default: false },
    one: { type: 'string' },
    text: { type: 'string', default: '' },
  },
});
const isOld = values.encoding === 'cl100k_base';
const encoding = isOld ? 'cl100k_base' : 'o200k_base';

const UNITS = sampleSize(200_000, 5_000);
const WARM_RUNS = 7;

type Encode = (text: string) => ArrayLike<number>;

/** Loads the encoder of each package. */
const ENCODERS: Readonly<Record<string, () => Promise<Encode>>> = {
  turnfold: async () => {
    const { loadTokenCounter } = await import('../src/wire/tokens/token-counter.ts');
    const counter = await loadTokenCounter(encoding);
    return (text) => counter.encode(text);
  },
  'js-tiktoken': async () => {
    const ranks = isOld ? await import('js-tiktoken/ranks/cl100k_base') : await import('js-tiktoken/ranks/o200k_base');
    const tiktoken = new Tiktoken(ranks.default);
    return (text) => tiktoken.encode(text, [], []);
  },
  'gpt-tokenizer': async () => {
    const { encode } = isOld
      ? await import('gpt-tokenizer/encoding/cl100k_base')
      : await import('gpt-tokenizer/encoding/o200k_base');
    return (text) => encode(text, { disallowedSpecial: new Set() });
  },
  'ai-tokenizer': async () => {
    const { Tokenizer } = await import('ai-tokenizer');
    const data = isOld
      ? await import('ai-tokenizer/encoding/cl100k_base')
      : await import('ai-tokenizer/encoding/o200k_base');
    const tokenizer = new Tokenizer(data);
    return (text) => tokenizer.encode(text, [], []);
  },
};

function loadEncoder(name: string): Promise<Encode> {
  const load = ENCODERS[name];
  if (load === undefined) throw new Error(`there is no encoder ${name}`);
  return load();
}

const TEXTS: Readonly<Record<string, () => string>> = {
  prose: () => readTexts().prose,
  code: () => readTexts().code,
  json: () => readTexts().json,
  chinese: () => `${readDiagnostics('zh-cn')}\n${readDiagnostics('zh-tw')}`,
  japanese: () => readDiagnostics('ja'),
  korean: () => readDiagnostics('ko'),
  conversations: sampleTraces,
};

/** Takes whole texts from all recorded conversations, evenly spread over them. */
function sampleTraces(): string {
  const texts = readTraces() ?? [];
  const size = texts.reduce((sum, { length }) => sum + length, 0);
  const step = Math.max(1, Math.floor(size / UNITS));
  return texts.filter((_, index) => index % step === 0).join('\n');
}

function readText(name: string): string {
  return (TEXTS[name]?.() ?? '').slice(0, UNITS);
}

interface Measured {
  readonly loadMs: number;
  readonly coldMs: number;
  readonly warmMs: number;
  readonly tokens: number;
}

/** Returns the CPU time of the process since another reading, in ms. Other load on the machine hardly changes it. */
function cpuMsSince(start?: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000;
}

/** Measures one encoder with one text in this process. */
async function measureOne(encoder: string, name: string): Promise<Measured> {
  const text = readText(name);
  const start = process.cpuUsage();
  const encode = await loadEncoder(encoder);
  const loadMs = cpuMsSince(start);
  let tokens = 0;
  const run = (): number => {
    const started = process.cpuUsage();
    tokens = encode(text).length;
    return cpuMsSince(started);
  };
  const coldMs = run();
  const warm = Array.from({ length: WARM_RUNS }, run);
  return { loadMs, coldMs, warmMs: spreadOf(warm).median, tokens };
}

function startOne(encoder: string, text: string): Measured {
  const args = [
    import.meta.filename,
    '--one',
    encoder,
    '--text',
    text,
    '--encoding',
    encoding,
    ...(values.smoke ? ['--smoke'] : []),
  ];
  const printed = execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  return JSON.parse(printed) as Measured;
}

async function checkIds(text: string): Promise<void> {
  const [ours, theirs] = await Promise.all([loadEncoder('turnfold'), loadEncoder('js-tiktoken')]);
  const sample = readText(text);
  if (Array.from(ours(sample)).join() !== Array.from(theirs(sample)).join())
    throw new Error(`turnfold and js-tiktoken return different token ids for ${text}`);
}

interface Row {
  readonly text: string;
  readonly encoder: string;
  readonly kilobytes: number;
  readonly tokens: number;
  readonly loadMs: Spread;
  readonly coldMs: Spread;
  readonly warmMs: Spread;
}

async function measureText(text: string): Promise<Row[]> {
  await checkIds(text);
  const names = Object.keys(ENCODERS);
  const measured = Array.from({ length: Number(values.runs) }, () => names.map((name) => startOne(name, text)));
  return names.map((encoder, index) => {
    const own = measured.map((run) => run[index]).filter((run) => run !== undefined);
    const spread = (of: (run: Measured) => number): Spread => spreadOf(own.map(of));
    return {
      text,
      encoder,
      kilobytes: Math.round(Buffer.byteLength(readText(text)) / 1_000),
      tokens: own[0]?.tokens ?? 0,
      loadMs: spread((run) => run.loadMs),
      coldMs: spread((run) => run.coldMs),
      warmMs: spread((run) => run.warmMs),
    };
  });
}

async function main(): Promise<void> {
  if (values.one !== undefined) {
    console.log(JSON.stringify(await measureOne(values.one, values.text)));
    return;
  }
  const rows: Row[] = [];
  const names = Object.keys(TEXTS);
  for (const text of names.slice(0, sampleSize(names.length, 2)))
    if (readText(text) !== '') rows.push(...(await measureText(text)));
  if (values.json) console.log(JSON.stringify({ encoding, rows }));
  else {
    console.log(`${encoding}, median (min–max) of ${values.runs} processes, ms`);
    console.table(
      rows.map(({ loadMs, coldMs, warmMs, ...row }) => ({
        ...row,
        load: describeSpread(loadMs, 0),
        cold: describeSpread(coldMs, 1),
        warm: describeSpread(warmMs, 1),
      })),
    );
  }
}

await main();

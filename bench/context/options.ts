import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { fieldError } from '../../src/domain/errors.ts';
import type { LiveLimits } from './live-context.ts';
import { FAMILIES, type Family } from './points.ts';

/** Options of the benchmark, checked. */
export interface BenchOptions {
  /** Each a share of the source if below 1, else tokens. */
  readonly budgets: readonly number[];
  readonly families: readonly Family[];
  /** Names of the chosen rows. Undefined: all. */
  readonly rows: readonly string[] | undefined;
  /** Folder of other recordings. */
  readonly folder: URL | undefined;
  readonly hasLive: boolean;
  readonly limits: LiveLimits;
  readonly hasPlanted: boolean;
  readonly output: BenchOutput;
  readonly reader: ReaderOptions | undefined;
}

export type BenchOutput =
  | { readonly kind: 'text' | 'json' | 'page' }
  | { readonly kind: 'contexts' | 'html'; readonly path: string };

export interface ReaderOptions {
  /** E.g. `anthropic/claude-haiku-5-5`. */
  readonly model: string;
  readonly maxRequests: number;
  /** Input and output tokens of all requests. */
  readonly maxTokens: number;
}

/** @throws invalid_input with the option at fault */
export function readOptions(args: readonly string[], isInCi: boolean): BenchOptions {
  const { values } = parse(args);
  return {
    budgets: readList('--budgets', values.budgets, BUDGET),
    families: readList('--families', values.families, FAMILY),
    rows: values.rows?.split(','),
    folder: readFolder(values['held-out']),
    hasLive: values.live,
    limits: readLimits(values.limits),
    hasPlanted: values.planted || values.write,
    output: readOutput(values),
    reader: values.reader === undefined ? undefined : readReader({ ...values, reader: values.reader }, isInCi),
  };
}

function parse(args: readonly string[]) {
  const options = {
    budgets: { type: 'string', default: '0.2,1000,2000,4000,8000' },
    families: { type: 'string', default: FAMILIES.join() },
    rows: { type: 'string' },
    'held-out': { type: 'string' },
    live: { type: 'boolean', default: true },
    limits: { type: 'string', default: '12000,6000' },
    planted: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    contexts: { type: 'string' },
    html: { type: 'string' },
    reader: { type: 'string' },
    'reader-requests': { type: 'string', default: '30' },
    'reader-tokens': { type: 'string', default: '300000' },
  } as const;
  try {
    return parseArgs({ args: [...args], allowNegative: true, options });
  } catch (error) {
    const { message } = error as Error;
    throw fieldError('invalid_input', /--[\w-]+/.exec(message)?.[0] ?? 'options', message, { cause: error });
  }
}

type Parsed = ReturnType<typeof parse>['values'];

/** How one value of an option is read. */
interface Reading<Value> {
  readonly expected: string;
  readonly read: (text: string) => Value | undefined;
}

const FAMILY: Reading<Family> = {
  expected: FAMILIES.join(', '),
  read: (text) => FAMILIES.find((family) => family === text),
};

const COUNT: Reading<number> = {
  expected: 'a whole number above 0',
  read: (text) =>
    /^\d+$/.test(text) && Number.isSafeInteger(Number(text)) && Number(text) > 0 ? Number(text) : undefined,
};

const BUDGET: Reading<number> = {
  expected: 'a share between 0 and 1, or whole tokens',
  read: (text) => (/^0?\.\d+$/.test(text) && Number(text) > 0 ? Number(text) : COUNT.read(text)),
};

function readOne<Value>(field: string, given: string, { expected, read }: Reading<Value>): Value {
  const value = read(given.trim());
  if (value === undefined) throw refuse(field, expected, given);
  return value;
}

function readList<Value>(field: string, given: string, reading: Reading<Value>): Value[] {
  return given.split(',').map((text) => readOne(field, text, reading));
}

function refuse(field: string, expected: string, given: string): Error {
  return fieldError('invalid_input', field, `expected ${expected}, got "${given}"`);
}

function readFolder(given: string | undefined): URL | undefined {
  if (given === undefined) return undefined;
  if (!existsSync(given)) throw refuse('--held-out', 'an existing folder with JSONL files', given);
  return pathToFileURL(`${resolve(given)}/`);
}

function readLimits(given: string): LiveLimits {
  const [tokenThreshold = 0, maxTokens = 0, ...rest] = readList('--limits', given, COUNT);
  if (rest.length > 0 || maxTokens >= tokenThreshold || maxTokens === 0)
    throw refuse('--limits', 'two numbers of tokens, the threshold and a smaller budget', given);
  return { tokenThreshold, maxTokens };
}

function readOutput({ json, write, contexts, html }: Parsed): BenchOutput {
  const chosen: (readonly [string, BenchOutput])[] = [
    ...(json ? [['--json', { kind: 'json' }] as const] : []),
    ...(write ? [['--write', { kind: 'page' }] as const] : []),
    ...(contexts === undefined ? [] : [['--contexts', { kind: 'contexts', path: contexts }] as const]),
    ...(html === undefined ? [] : [['--html', { kind: 'html', path: html }] as const]),
  ];
  const [first, second] = chosen;
  if (first !== undefined && second !== undefined)
    throw fieldError('invalid_input', second[0], `cannot be combined with ${first[0]}: run the benchmark twice`);
  return first?.[1] ?? { kind: 'text' };
}

function readReader(values: Parsed & { readonly reader: string }, isInCi: boolean): ReaderOptions {
  const { reader: model } = values;
  if (!/^[^/\s]+\/\S+$/.test(model)) throw refuse('--reader', 'a model as provider/model', model);
  if (isInCi) throw fieldError('invalid_input', '--reader', 'calls a paid model, so it does not run where CI is set');
  const maxRequests = readOne('--reader-requests', values['reader-requests'], COUNT);
  const maxTokens = readOne('--reader-tokens', values['reader-tokens'], COUNT);
  return { model, maxRequests, maxTokens };
}

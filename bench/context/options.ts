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
  const families = readList('--families', values.families, (text) => {
    const family = FAMILIES.find((one) => one === text);
    return family ?? `expected ${FAMILIES.join(', ')}`;
  });
  return {
    budgets: readList('--budgets', values.budgets, readBudget),
    families: families as Family[],
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

/** @param read returns the value, or a text that says which values are possible */
function readList<Value>(field: string, given: string, read: (text: string) => Value | string): Value[] {
  return given.split(',').map((text) => {
    const value = read(text.trim());
    if (typeof value === 'string' && value.startsWith('expected')) throw refuse(field, value, text);
    return value as Value;
  });
}

function refuse(field: string, expected: string, given: string): Error {
  return fieldError('invalid_input', field, `${expected}, got "${given}"`);
}

function readBudget(text: string): number | string {
  const budget = Number(text);
  const isShare = budget > 0 && budget < 1;
  return text !== '' && (isShare || (Number.isSafeInteger(budget) && budget >= 1))
    ? budget
    : 'expected a share between 0 and 1, or whole tokens';
}

function readFolder(given: string | undefined): URL | undefined {
  if (given === undefined) return undefined;
  if (!existsSync(given)) throw refuse('--held-out', 'expected an existing folder with JSONL files', given);
  return pathToFileURL(`${resolve(given)}/`);
}

function readLimits(given: string): LiveLimits {
  const [tokenThreshold = 0, maxTokens = 0, ...rest] = readList('--limits', given, (text) => readCount(text));
  if (rest.length > 0 || maxTokens >= tokenThreshold || maxTokens === 0)
    throw refuse('--limits', 'expected two numbers of tokens, the threshold and a smaller budget', given);
  return { tokenThreshold, maxTokens } as LiveLimits;
}

function readCount(text: string): number | string {
  const count = Number(text);
  return text !== '' && Number.isSafeInteger(count) && count > 0 ? count : 'expected a whole number above 0';
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
  if (!/^[^/\s]+\/\S+$/.test(model)) throw refuse('--reader', 'expected a model as provider/model', model);
  if (isInCi) throw fieldError('invalid_input', '--reader', 'calls a paid model, so it does not run where CI is set');
  const [maxRequests] = readList('--reader-requests', values['reader-requests'], readCount);
  const [maxTokens] = readList('--reader-tokens', values['reader-tokens'], readCount);
  return { model, maxRequests, maxTokens } as ReaderOptions;
}

import { z } from 'zod';
import { fieldError } from '../domain/errors.ts';
import type { JsonSchema } from '../domain/json-schema.ts';
import { parseInput } from '../domain/parse.ts';
import { WIRE_FORMATS, type WireFormat } from '../domain/raw-items.ts';
import { metadataSchema, type TurnMetadata } from '../domain/turn.ts';
import { readTurnContext, type TurnContext, writeTurnContext } from '../domain/turn-context.ts';
import type { TurnOwn } from '../domain/turn-own.ts';
import { ROLES, type WorkerRole } from '../host/workers-options.ts';
import { nameFile, readTextFile } from './files.ts';

export function readFormat(name: string): WireFormat {
  return parseInput(z.enum(WIRE_FORMATS), name, '--format');
}

export function readRoles(list: string): WorkerRole[] {
  return list.split(',').map((name) => {
    const role = ROLES.find((known) => known === name.trim());
    if (role !== undefined) return role;
    throw fieldError('invalid_config', '--roles', `unknown role '${name}', expected ${ROLES.join(', ')}`);
  });
}

/** Reads names separated by commas. @throws invalid_input for an unknown name */
export function readNames<Name>(list: string, schema: z.ZodType<Name>, option: string): Name[] {
  return list.split(',').map((name) => parseInput(schema, name.trim(), option));
}

const CONTEXT_OPTION = '--context';
const FILE_MARK = '@';

/** Reads a JSON object from the text or from a file. Errors do not quote the value, because errors may be logged. */
export async function readContextOption(typed: string | undefined): Promise<TurnContext | undefined> {
  if (typed === undefined) return undefined;
  const path = typed.startsWith(FILE_MARK) ? typed.slice(FILE_MARK.length) : undefined;
  const text = path === undefined ? typed : await readTextFile(path);
  const where = path === undefined ? '' : `${nameFile(path)} is not JSON, `;
  const why = `${where}expected a JSON object such as {"user":"u1"}, or @path of a file with one`;
  return readTurnContext(writeTurnContext(parseJson(text, { option: CONTEXT_OPTION, why }), CONTEXT_OPTION));
}

/** Options by which a turn brings its own. Each names a file, because schemas are long. */
export interface OwnOptions {
  /** File with a JSON list of tools. */
  readonly tools?: string;
  readonly instructions?: string;
  /** File with the JSON Schema of the answer. */
  readonly answer?: string;
  readonly toolChoice?: string;
  readonly maxOutputTokens?: number;
}

/** @throws invalid_input if a file is not JSON. The client checks the values */
export async function readOwnOptions(options: OwnOptions): Promise<TurnOwn> {
  const { tools, instructions, answer, toolChoice, maxOutputTokens } = options;
  const schema = await readJsonOption(answer, '--answer', 'expected the JSON Schema of an object');
  return {
    tools: (await readJsonOption(tools, '--tools', 'expected a JSON list of tools')) as TurnOwn['tools'],
    instructions,
    answer: schema === undefined ? undefined : { schema: schema as JsonSchema },
    toolChoice: toolChoice as TurnOwn['toolChoice'],
    maxOutputTokens,
  };
}

async function readJsonOption(path: string | undefined, option: string, why: string): Promise<unknown> {
  if (path === undefined) return undefined;
  return parseJson(await readTextFile(path), { option, why: `${nameFile(path)} is not JSON, ${why}` });
}

const METADATA_OPTION = '--metadata';

/** @throws invalid_input for anything but a JSON object of texts */
export function readMetadataOption(typed: string | undefined): TurnMetadata | undefined {
  if (typed === undefined) return undefined;
  const why = 'expected a JSON object of texts such as {"request":"r1"}';
  return parseInput(metadataSchema, parseJson(typed, { option: METADATA_OPTION, why }), METADATA_OPTION);
}

function parseJson(text: string, { option, why }: { readonly option: string; readonly why: string }): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw fieldError('invalid_input', option, why);
  }
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Converts `90s`, `30m`, `2h` or `7d` to ms. Returns undefined for any other text. */
export function parsePeriod(text: string): number | undefined {
  const [, count, unit = ''] = /^(\d+)([smhd])$/.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * (UNITS[unit] ?? 0);
}

/** @param option name of the option, for the error. @throws invalid_input for a text that is no period */
export function readPeriod(text: string, option: string): number {
  const periodMs = parsePeriod(text);
  if (periodMs !== undefined) return periodMs;
  throw fieldError('invalid_input', option, `expected a period such as 90s, 30m, 2h or 7d, got '${text}'`);
}

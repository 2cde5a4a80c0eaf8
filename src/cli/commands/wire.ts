import { z } from 'zod';
import { isTurnfoldError, TurnfoldError } from '../../domain/errors.ts';
import { adoptMessages } from '../../domain/history.ts';
import { parseInput } from '../../domain/parse.ts';
import { findLastModel } from '../../domain/raw-items.ts';
import { wireFormats } from '../../wire/formats.ts';
import { loadTokenCounter } from '../../wire/tokens/token-counter.ts';
import type { Violation } from '../../wire/wire-request.ts';
import { eachConversation } from '../conversation-file.ts';
import { nameFile, readTextFile } from '../files.ts';
import { readFormat } from '../option-values.ts';
import { reportError, writeJson, writeResult } from '../output.ts';
import type { CommandContext, JsonOption } from '../run-command.ts';

interface RenderOptions {
  readonly format: string;
  /** Model of the request. Absent: the model that wrote the last answer in this format. */
  readonly model?: string;
  /** System prompt of the request. A conversation file does not contain it. */
  readonly system?: string;
}

const MAX_OUTPUT_TOKENS = 8_192;

/** Describes tools by their names only, because a file has no descriptions. */
export async function renderFile(
  { output }: CommandContext,
  path: string,
  { format: formatName, model, system = '' }: RenderOptions,
): Promise<number> {
  const format = readFormat(formatName);
  return await eachConversation({ path, output }, async ({ messages: given }) => {
    const { messages } = adoptMessages(given, 1);
    const named = { model: model ?? findLastModel(messages, format) ?? 'unnamed', system, tools: [], messages };
    writeJson(output, wireFormats[format].render({ ...named, maxOutputTokens: MAX_OUTPUT_TOKENS }).body);
  });
}

interface ValidateOptions extends JsonOption {
  readonly format: string;
}

/** Exit codes. A script can distinguish a request that breaks rules (1) from a file without a request (2). */
const BROKEN_RULES = 1;
const BAD_INPUT = 2;

export async function validateFile(
  { output }: CommandContext,
  path: string,
  options: ValidateOptions,
): Promise<number> {
  let violations: readonly Violation[];
  try {
    const { validate } = wireFormats[readFormat(options.format)];
    violations = validate(parseBody(await readTextFile(path), path));
  } catch (error) {
    const exitCode = reportError(output, error, options.json);
    return isTurnfoldError(error) ? BAD_INPUT : exitCode;
  }
  const lines = violations.length === 0 ? [`valid ${options.format} request`] : violations.map(describeViolation);
  writeResult(output, options.json, { violations }, ...lines);
  return violations.length === 0 ? 0 : BROKEN_RULES;
}

function parseBody(text: string, path: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (cause) {
    throw new TurnfoldError('invalid_input', `${nameFile(path)}: not JSON, expected one request body`, {
      field: path,
      cause,
    });
  }
}

const RULE_WIDTH = 'form'.length;

function describeViolation({ rule, path, message }: Violation): string {
  return `${rule.padEnd(RULE_WIDTH)}  ${path === '' ? 'request' : path}: ${message}`;
}

const encodingSchema = z.enum(['o200k_base', 'cl100k_base']);

export async function countFile(
  { output }: CommandContext,
  path: string,
  options: JsonOption & { readonly encoding: string },
): Promise<number> {
  const counter = await loadTokenCounter(parseInput(encodingSchema, options.encoding, '--encoding'));
  const tokens = await counter.count(await readTextFile(path));
  writeResult(output, options.json, { tokens }, `${tokens} tokens (${options.encoding})`);
  return 0;
}

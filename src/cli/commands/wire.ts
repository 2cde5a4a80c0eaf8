import { z } from 'zod';
import { isTurnfoldError, TurnfoldError } from '../../domain/errors.ts';
import { adoptMessages } from '../../domain/history.ts';
import type { Message } from '../../domain/message.ts';
import { parseInput } from '../../domain/parse.ts';
import { readRawItems, type WireFormat } from '../../domain/raw-items.ts';
import { loadTokenCounter } from '../../tokens/token-counter.ts';
import { readConversationLine } from '../../wire/conversation-line.ts';
import { wireFormats } from '../../wire/formats.ts';
import type { Violation } from '../../wire/wire-request.ts';
import { nameFile, readLines, readTextFile } from '../files.ts';
import { readFormat } from '../option-values.ts';
import { type Output, reportError, reportRefusal, writeJson } from '../output.ts';

export interface RenderOptions {
  readonly format: string;
  /** Provider's name of the model. Absent: the model that answered last in this format. */
  readonly model?: string;
  /** System prompt. Logs do not contain it. */
  readonly system?: string;
}

/** Default reserve for an answer. */
const MAX_OUTPUT_TOKENS = 8_192;

/**
 * Prints the provider request for each conversation of a file, one JSON line each. Stubs stand for the tools, because a
 * file has none.
 * @returns the exit code
 * @throws invalid_input for an unknown format
 */
export async function renderFile(path: string, options: RenderOptions, output: Output): Promise<number> {
  const format = readFormat(options.format);
  const { render } = wireFormats[format];
  let exitCode = 0;
  for await (const { number, line } of readLines(path)) {
    let id = `line-${number}`;
    try {
      const conversation = readConversationLine(line, number);
      id = conversation.id;
      const { messages } = adoptMessages(conversation.messages, 1);
      const model = options.model ?? findModel(messages, format);
      const request = { model, system: options.system ?? '', tools: [], messages, maxOutputTokens: MAX_OUTPUT_TOKENS };
      writeJson(output, render(request).body);
    } catch (error) {
      exitCode = reportRefusal(output, id, error);
    }
  }
  return exitCode;
}

/** A request may repeat thinking only to the model that wrote it. */
function findModel(messages: readonly Message[], format: WireFormat): string {
  const answers = messages.map(readRawItems).filter((raw) => raw?.format === format);
  return answers.at(-1)?.model ?? 'unnamed';
}

export interface ValidateOptions {
  readonly format: string;
  readonly json?: boolean;
}

/** Exit codes: a script tells an invalid request (1) from a file without a request (2). */
const BROKEN_RULES = 1;
const BAD_INPUT = 2;

/** Prints the format rules that a request body breaks. @returns the exit code: 0 if the body breaks none */
export async function validateFile(path: string, options: ValidateOptions, output: Output): Promise<number> {
  let violations: readonly Violation[];
  try {
    const { validate } = wireFormats[readFormat(options.format)];
    violations = validate(parseBody(await readTextFile(path), path));
  } catch (error) {
    const exitCode = reportError(output, error, options.json);
    return isTurnfoldError(error) ? BAD_INPUT : exitCode;
  }
  if (options.json) writeJson(output, { violations });
  else if (violations.length === 0) output.line(`valid ${options.format} request`);
  else for (const violation of violations) output.line(describeViolation(violation));
  return violations.length === 0 ? 0 : BROKEN_RULES;
}

/** @throws invalid_input */
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

/** Counts the tokens of a file. @throws invalid_input for an unknown encoding */
export async function countFile(
  path: string,
  options: { readonly encoding: string; readonly json?: boolean },
  output: Output,
): Promise<number> {
  const counter = await loadTokenCounter(parseInput(encodingSchema, options.encoding, '--encoding'));
  const tokens = await counter.count(await readTextFile(path));
  if (options.json) writeJson(output, { tokens });
  else output.line(`${tokens} tokens (${options.encoding})`);
  return 0;
}

import { z } from 'zod';
import type { OutputPart, ToolOutput } from '../../domain/agent.ts';
import { writeBoundedJson } from '../../domain/bounded-json.ts';
import type { ToolOutcome } from '../../domain/events.ts';
import { readJsonText, STORED_JSON_BOUNDS } from '../../domain/json-text.ts';
import { MAX_MESSAGE_BYTES } from '../../domain/message.ts';
import { joinPath, safeParse } from '../../domain/parse.ts';
import { readResultParts } from '../../domain/result-parts.ts';
import { readSafely } from '../../domain/thrown.ts';
import type { TokenCounter } from '../../wire/tokens/token-counter.ts';
import { hashOf } from '../content-hash.ts';

export interface ToolAnswer {
  readonly output: ToolOutput;
  readonly outcome: ToolOutcome;
}

const outputSchema = z.union([
  z.string().transform((content): ToolOutput => ({ content })),
  z
    .strictObject({
      content: z.string(),
      parts: z.custom<OutputPart[]>(Array.isArray).optional(),
      isError: z.boolean().optional(),
    })
    .transform(({ content, parts, isError }): ToolOutput => {
      return { content, ...(parts !== undefined && { parts }), ...(isError === true && { isError }) };
    }),
]);

const approvalSchema = z.object({ approved: z.boolean(), why: z.string().optional() });

type Approval = z.infer<typeof approvalSchema>;

export function errorAnswer(outcome: Exclude<ToolOutcome, 'done'>, why: string): ToolAnswer {
  return { output: { content: `${outcome}: ${why}`, isError: true }, outcome };
}

/** Bounds of a result that is written as JSON text. Nothing parses that text again. */
const RESULT_BOUNDS = { maxCharacters: MAX_MESSAGE_BYTES, maxValues: 550_000 };

export function readOutput(value: unknown): ToolAnswer {
  return readExact(value) ?? readObject(value);
}

/** Reads a result that is text, or `{content, parts?, isError?}` without other fields. */
function readExact(value: unknown): ToolAnswer | undefined {
  // A schema would visit all keys of the object, possibly millions, so this check comes first.
  if (typeof value === 'object' && typeof readSafely(value, 'content') !== 'string') return undefined;
  const parsed = safeParse(outputSchema, value, { at: 'result', code: 'invalid_input' });
  if (!parsed.success) return undefined;
  const { parts: given, ...output } = parsed.data;
  const outcome = output.isError === true ? 'failed' : 'done';
  if (given === undefined) return { output, outcome };
  const read = readResultParts(given, 'result.parts');
  if (read.status === 'refused') return errorAnswer('invalid_result', `${read.field}: ${read.why}`);
  return read.status === 'other' ? undefined : { output: { ...output, parts: read.parts as OutputPart[] }, outcome };
}

/** Writes any other result as JSON, so that no field besides `content` is lost. */
function readObject(value: unknown): ToolAnswer {
  if (typeof value !== 'object' || value === null) {
    return errorAnswer('invalid_result', 'the tool must return text or a JSON object');
  }
  const written = writeBoundedJson(value, RESULT_BOUNDS);
  if (written.status === 'refused') {
    return errorAnswer('invalid_result', `${joinPath('result', written.path)}: ${written.why}`);
  }
  const bytes = Buffer.byteLength(written.json);
  if (bytes > MAX_MESSAGE_BYTES) {
    return errorAnswer(
      'invalid_result',
      `the tool returned ${bytes} bytes of JSON, but the limit of a tool result is ${MAX_MESSAGE_BYTES} bytes`,
    );
  }
  return { output: { content: written.json }, outcome: 'done' };
}

export function readBroughtOutput(json: string): ToolAnswer {
  const value = readJsonText(json, STORED_JSON_BOUNDS);
  if (value === undefined) return errorAnswer('invalid_result', 'the result that the caller sent is not JSON');
  return (
    readExact(value) ??
    errorAnswer('invalid_result', 'the result that the caller sent must be text or {content, parts, isError}')
  );
}

/** Reads a decision of a person. An unreadable decision counts as not approved. */
export function readApproval(json: string): Approval {
  const parsed = approvalSchema.safeParse(readJsonText(json));
  return parsed.success ? parsed.data : { approved: false, why: 'the decision on the approval could not be read' };
}

export const TOOL_RESULT_MAX_TOKENS = 8_000;

export interface ClippedResult {
  readonly content: string;
  /** The full text. Undefined if nothing was cut, or if the full text is not stored. */
  readonly whole?: { readonly hash: string; readonly text: string };
}

export interface ClipBounds {
  readonly maxTokens: number;
  /** True if the agent has the recall tool, which reads the full text. Otherwise the full text is not stored. */
  readonly hasRecall: boolean;
}

/** Number of UTF-16 units that nearly no token exceeds. A longer text is clipped without counting all of it. */
const UNITS_A_TOKEN = 8;

/** If a clip would remove at most this many UTF-16 units, the text is counted exactly, because it may fit. */
const NARROW_GAP_UNITS = 4_096;

/**
 * Clips a result before it enters the log, because every later request would contain it. Its start and end remain, and
 * the full text is stored beside the log. The cost grows with `maxTokens`, not with the text.
 */
export async function clipResult(
  counter: TokenCounter,
  text: string,
  { maxTokens, hasRecall }: ClipBounds,
): Promise<ClippedResult> {
  // Each unit has at least one byte. Counting the bytes of 64 MiB would take milliseconds.
  const isTooLong = text.length > MAX_MESSAGE_BYTES || Buffer.byteLength(text) > MAX_MESSAGE_BYTES;
  if (!isTooLong && (await fits(counter, text, maxTokens))) return { content: text };
  const isKept = hasRecall && !isTooLong;
  const hash = isKept ? hashOf(text) : '';
  const rest = isKept ? `recall reads the whole by ref ${hash}` : 'the rest is not kept';
  const marker = `\n[clipped: ${text.length} characters; ${rest}]\n`;
  // A text of this many tokens fits into a message, even if all are the longest tokens.
  const fitting = Math.floor(MAX_MESSAGE_BYTES / counter.longestTokenBytes);
  const limit = isTooLong ? Math.min(maxTokens, fitting) : maxTokens;
  const left = Math.max(0, limit - counter.countSync(marker));
  const [head, tail] = await clipEnds(counter, text, left);
  return { content: `${head}${marker}${tail}`, ...(isKept && { whole: { hash, text } }) };
}

async function fits(counter: TokenCounter, text: string, maxTokens: number): Promise<boolean> {
  // Each token has at least one byte.
  if (Buffer.byteLength(text) <= maxTokens) return true;
  if (text.length > maxTokens * UNITS_A_TOKEN) {
    const [head, tail] = await clipEnds(counter, text, maxTokens);
    if (head.length + tail.length + NARROW_GAP_UNITS < text.length) return false;
  }
  return (await counter.count(text)) <= maxTokens;
}

async function clipEnds(counter: TokenCounter, text: string, maxTokens: number): Promise<[head: string, tail: string]> {
  const head = await counter.clipStart(text, Math.ceil(maxTokens / 2));
  return [head, await counter.clipEnd(text, Math.floor(maxTokens / 2))];
}

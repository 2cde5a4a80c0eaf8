import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { ToolOutput } from '../../domain/agent.ts';
import { writeBoundedJson } from '../../domain/bounded-json.ts';
import type { ToolOutcome } from '../../domain/events.ts';
import { readJsonText, STORED_JSON_BOUNDS } from '../../domain/json-text.ts';
import { MAX_MESSAGE_BYTES } from '../../domain/message.ts';
import { joinPath, safeParse } from '../../domain/parse.ts';
import { readSafely } from '../../domain/thrown.ts';
import type { TokenCounter } from '../../wire/tokens/token-counter.ts';

/** The answer to one tool call: its log entry, and its outcome for metrics. */
export interface ToolAnswer {
  readonly output: ToolOutput;
  readonly outcome: ToolOutcome;
}

const outputSchema = z.union([
  z.string().transform((content): ToolOutput => ({ content })),
  z
    .strictObject({ content: z.string(), isError: z.boolean().optional() })
    .transform(({ content, isError }): ToolOutput => (isError === true ? { content, isError } : { content })),
]);

const approvalSchema = z.object({ approved: z.boolean(), why: z.string().optional() });

export type Approval = z.infer<typeof approvalSchema>;

/** An error result that the model reads: an outcome code and a reason. */
export function errorAnswer(outcome: Exclude<ToolOutcome, 'done'>, why: string): ToolAnswer {
  return { output: { content: `${outcome}: ${why}`, isError: true }, outcome };
}

/** Limits for writing a tool's result as JSON. The result becomes a text, which nothing parses again. */
const RESULT_BOUNDS = { maxCharacters: MAX_MESSAGE_BYTES, maxValues: 550_000 };

export function readOutput(value: unknown): ToolAnswer {
  return readExact(value) ?? readObject(value);
}

/** Reads a result that is text, or an object of the form `{content, isError?}` without other fields. */
function readExact(value: unknown): ToolAnswer | undefined {
  // This check runs before the schema, because the schema would visit all keys of the object, possibly millions.
  if (typeof value === 'object' && typeof readSafely(value, 'content') !== 'string') return undefined;
  const parsed = safeParse(outputSchema, value, 'result', 'invalid_input');
  if (!parsed.success) return undefined;
  return { output: parsed.data, outcome: parsed.data.isError === true ? 'failed' : 'done' };
}

/**
 * Writes any other tool result as JSON text. An object with `content` and other fields is also written in full, so that
 * no field is lost.
 */
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

/**
 * Reads a tool result that came from outside the worker.
 * @param json the tool result that a caller sent to `resume`, as JSON
 */
export function readBroughtOutput(json: string): ToolAnswer {
  const value = readJsonText(json, STORED_JSON_BOUNDS);
  if (value === undefined) return errorAnswer('invalid_result', 'the result that the caller sent is not JSON');
  return (
    readExact(value) ??
    errorAnswer('invalid_result', 'the result that the caller sent must be text or {content, isError}')
  );
}

/** Reads the decision about a tool call that waits for approval. An unreadable decision counts as not approved. */
export function readApproval(json: string): Approval {
  const parsed = approvalSchema.safeParse(readJsonText(json));
  return parsed.success ? parsed.data : { approved: false, why: 'the decision on the approval could not be read' };
}

/** Default of the setting `toolResultMaxTokens`. A tool result with more tokens is clipped. */
export const TOOL_RESULT_MAX_TOKENS = 8_000;

export interface ClippedResult {
  readonly content: string;
  /**
   * The full text of a clipped tool result, and its hash. Undefined if nothing was cut, or if the full text is not
   * stored.
   */
  readonly whole?: { readonly hash: string; readonly text: string };
}

export interface ClipBounds {
  readonly maxTokens: number;
  /**
   * True if the agent has the recall tool, so that it can read the full text later. Otherwise the full text is not
   * stored.
   */
  readonly hasRecall: boolean;
}

/**
 * UTF-16 units that nearly no token exceeds. A text with more units than this per allowed token is clipped without
 * counting all of it.
 */
const UNITS_A_TOKEN = 8;

/**
 * If a clip would remove no more UTF-16 units than this, the text is counted exactly, because it may fit as a whole.
 */
const NARROW_GAP_UNITS = 4_096;

/**
 * Clips a tool's result to `maxTokens` before the result enters the log, because every later request would contain the
 * result. The head and the tail of the text remain. The full text is stored beside the log, if it is no larger than a
 * message may be.
 *
 * The cost grows with `maxTokens`, not with the text: only the head and the tail of a long text are counted.
 */
export async function clipResult(
  counter: TokenCounter,
  text: string,
  { maxTokens, hasRecall }: ClipBounds,
): Promise<ClippedResult> {
  // A UTF-16 unit has at least one byte in UTF-8. For a text of 64 MiB, counting the bytes would take milliseconds.
  const isTooLong = text.length > MAX_MESSAGE_BYTES || Buffer.byteLength(text) > MAX_MESSAGE_BYTES;
  if (!isTooLong && (await fits(counter, text, maxTokens))) return { content: text };
  const isKept = hasRecall && !isTooLong;
  const hash = isKept ? createHash('sha256').update(text).digest('hex').slice(0, 32) : '';
  const rest = isKept ? `recall reads the whole by ref ${hash}` : 'the rest is not kept';
  const marker = `\n[clipped: ${text.length} characters; ${rest}]\n`;
  // A text of this many tokens is never larger than the limit for a message, even if all its tokens are the longest
  // ones.
  const fitting = Math.floor(MAX_MESSAGE_BYTES / counter.longestTokenBytes);
  const limit = isTooLong ? Math.min(maxTokens, fitting) : maxTokens;
  const left = Math.max(0, limit - counter.countSync(marker));
  const [head, tail] = await clipEnds(counter, text, left);
  return { content: `${head}${marker}${tail}`, ...(isKept && { whole: { hash, text } }) };
}

async function fits(counter: TokenCounter, text: string, maxTokens: number): Promise<boolean> {
  // Each token has at least one byte, so a text with no more bytes than `maxTokens` is not counted.
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

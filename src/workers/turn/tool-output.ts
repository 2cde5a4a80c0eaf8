import { z } from 'zod';
import type { ToolOutput } from '../../domain/agent.ts';
import { writeBoundedJson } from '../../domain/bounded-json.ts';
import type { ToolOutcome } from '../../domain/events.ts';
import { readJsonText, STORED_JSON_BOUNDS } from '../../domain/json-text.ts';
import { MAX_MESSAGE_BYTES } from '../../domain/message.ts';
import { joinPath, safeParse } from '../../domain/parse.ts';
import { readSafely } from '../../domain/thrown.ts';

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

import { z } from 'zod';
import type { ToolOutput } from '../../domain/agent.ts';
import { writeBoundedJson } from '../../domain/bounded-json.ts';
import type { ToolOutcome } from '../../domain/events.ts';
import { MAX_MESSAGE_BYTES } from '../../domain/message.ts';
import { joinPath, safeParse } from '../../domain/parse.ts';
import { readSafely } from '../../domain/thrown.ts';

/** The answer to one call: its log entry and its outcome for metrics. */
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

/** An error result for a model: a code and a reason. */
export function errorAnswer(outcome: Exclude<ToolOutcome, 'done'>, why: string): ToolAnswer {
  return { output: { content: `${outcome}: ${why}`, isError: true }, outcome };
}

/** Twice the usual work, because a result is written and not read back. Enough for 20,000 rows of five columns. */
const RESULT_BOUNDS = { maxCharacters: MAX_MESSAGE_BYTES, maxWork: 550_000 };

export function readOutput(value: unknown): ToolAnswer {
  return readExact(value) ?? readObject(value);
}

/** Reads a text, or `{content, isError?}` without other fields. */
function readExact(value: unknown): ToolAnswer | undefined {
  // Checked before the schema, which would visit all keys of an object. There may be millions.
  if (typeof value === 'object' && typeof readSafely(value, 'content') !== 'string') return undefined;
  const parsed = safeParse(outputSchema, value, 'result', 'invalid_input');
  if (!parsed.success) return undefined;
  return { output: parsed.data, outcome: parsed.data.isError === true ? 'failed' : 'done' };
}

/**
 * Writes any other object as JSON text. An object with `content` and other fields is written, too, because those fields of a
 * service's answer must not be lost.
 */
function readObject(value: unknown): ToolAnswer {
  if (typeof value !== 'object' || value === null) {
    return errorAnswer('invalid_result', 'the tool answered neither text nor an object of JSON');
  }
  const written = writeBoundedJson(value, RESULT_BOUNDS);
  if (written.status === 'refused') {
    return errorAnswer('invalid_result', `${joinPath('result', written.path)}: ${written.why}`);
  }
  const bytes = Buffer.byteLength(written.json);
  if (bytes > MAX_MESSAGE_BYTES) {
    return errorAnswer('invalid_result', `the tool answered ${bytes} bytes of JSON, at most ${MAX_MESSAGE_BYTES}`);
  }
  return { output: { content: written.json }, outcome: 'done' };
}

/** @param json from `resume` */
export function readBroughtOutput(json: string): ToolAnswer {
  const value = parseToolJson(json);
  if (!value.isJson) return errorAnswer('invalid_result', 'the answer is not JSON');
  return readExact(value.value) ?? errorAnswer('invalid_result', 'the answer is neither text nor {content, isError}');
}

/** An unreadable decision is no approval. */
export function readApproval(json: string): Approval {
  const value = parseToolJson(json);
  const parsed = approvalSchema.safeParse(value.isJson ? value.value : undefined);
  return parsed.success ? parsed.data : { approved: false, why: 'the decision could not be read' };
}

export type ParsedJson = { readonly isJson: true; readonly value: unknown } | { readonly isJson: false };

export function parseToolJson(text: string): ParsedJson {
  try {
    return { isJson: true, value: JSON.parse(text) };
  } catch {
    return { isJson: false };
  }
}

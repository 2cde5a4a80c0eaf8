import { z } from 'zod';
import { boundedList } from './bounded-schemas.ts';
import { isHeldCall } from './held-call.ts';
import { jsonSchema, MAX_CALLS, MAX_MESSAGE_BYTES, toolCallSchema } from './message.ts';
import {
  isModelError,
  MODEL_ERROR_KINDS,
  type ModelAnswer,
  type ModelCompaction,
  ModelError,
  type ModelErrorKind,
  type ModelUsage,
  type ToolCallPiece,
} from './model.ts';
import { safeParse } from './parse.ts';
import { clipText, describeThrown, readSafely } from './thrown.ts';

const MODEL_NAME_CHARACTERS = 256;

const answerSchema = z
  .object({
    content: z.string(),
    toolCalls: boundedList(toolCallSchema, MAX_CALLS),
    end: z.enum(['complete', 'cut_off', 'refusal']).nullish(),
    isFiltered: z.boolean().nullish(),
    nextCallAt: z.number().nullish(),
    model: z.string().min(1).max(MODEL_NAME_CHARACTERS).nullish(),
    raw: jsonSchema.nullish(),
  })
  .refine(isSmallEnough, { error: `the text and tool calls exceed ${MAX_MESSAGE_BYTES} bytes` });

/**
 * Copies an answer of a model adapter, which may be untyped JavaScript, into plain data of limited size.
 * @throws ModelError of kind `fatal`, which names the invalid field but never its content
 */
export function checkAnswer(answer: unknown): ModelAnswer {
  const { usage, data } = readFields(answerSchema, answer, 'answer');
  const { content, toolCalls, end, isFiltered, nextCallAt, model, raw } = data;
  return {
    content,
    toolCalls,
    ...(end && { end }),
    ...(isFiltered && { isFiltered }),
    ...(usage && { usage }),
    ...(nextCallAt && { nextCallAt }),
    ...(model && { model }),
    ...(raw !== undefined && raw !== null && { raw }),
  };
}

export const EMPTY_ANSWER = 'empty_answer';

/**
 * Refuses an answer without text and calls: readers would take it for the end of the work.
 * @throws ModelError with the code `empty_answer`. A retry may help
 */
export function refuseEmptyAnswer({ content, toolCalls, end, usage }: ModelAnswer): void {
  if (toolCalls.length > 0 || content.trim() !== '' || end === 'refusal') return;
  const options = { code: EMPTY_ANSWER, ...(usage && { usage }) };
  throw end === 'cut_off'
    ? new ModelError('fatal', 'the model reached its output limit before it wrote any text. Raise the limit', options)
    : new ModelError('retry', 'the model ended its answer without text and without tool calls', options);
}

const compactionSchema = z.object({
  text: z.string().max(MAX_MESSAGE_BYTES).nullish(),
  nextCallAt: z.number().nullish(),
  raw: jsonSchema,
});

/** @throws ModelError of kind `fatal` */
export function checkModelCompaction(compaction: unknown): ModelCompaction {
  const { usage, data } = readFields(compactionSchema, compaction, 'compaction');
  const { text, nextCallAt, raw } = data;
  return { ...(typeof text === 'string' && { text }), ...(usage && { usage }), ...(nextCallAt && { nextCallAt }), raw };
}

/** Reads the usage apart from the other fields, because the provider bills invalid answers too. */
function readFields<Fields>(schema: z.ZodType<Fields>, value: unknown, at: string) {
  const usage = readModelUsage(readSafely(value, 'usage'));
  const read = safeParse(schema, value, { at, code: 'invalid_input' });
  if (read.success) return { usage, data: read.data };
  throw new ModelError('fatal', read.problems[0]?.message ?? `${at}: invalid`, usage && { usage });
}

const ERROR_CODE_CHARACTERS = 200;
/** Maximum characters of the outline of a refused request. */
const ERROR_FORM_CHARACTERS = 64 * 1024;
/** Maximum retry delay: ten years in ms. A longer delay is the provider's mistake. */
const MAX_RETRY_MS = 315_360_000_000;

/** Any error but a ModelError keeps only its name, because its message could quote the request. */
export function readModelError(thrown: unknown, now: number): ModelError {
  if (isHeldCall(thrown)) return thrown;
  const { name, message, code } = describeThrown(thrown);
  if (!isModelError(thrown)) {
    const why = `the model threw ${name}. Its message is left out, because it may quote the request. Throw a ModelError to report a message`;
    return new ModelError('fatal', why);
  }
  const kind = readSafely(thrown, 'kind');
  const retryAt = readSafely(thrown, 'retryAt');
  const form = readSafely(thrown, 'form');
  const usage = readModelUsage(readSafely(thrown, 'usage'));
  return new ModelError(isKind(kind) ? kind : 'fatal', message, {
    ...(typeof retryAt === 'number' && retryAt >= 0 && retryAt - now <= MAX_RETRY_MS && { retryAt }),
    ...(code !== undefined && { code: clipText(code, ERROR_CODE_CHARACTERS) }),
    ...(typeof form === 'string' && { form: clipText(form, ERROR_FORM_CHARACTERS) }),
    ...(usage && { usage }),
    refusesContents: readSafely(thrown, 'refusesContents') === true,
    refusesSettings: readSafely(thrown, 'refusesSettings') === true,
    mayBeTooLong: readSafely(thrown, 'mayBeTooLong') === true,
    isLimit: readSafely(thrown, 'isLimit') === true,
  });
}

/** Reads the model that failed and the kind of its error. Both become metric labels, so their length is limited. */
export function readPassedOver(
  model: unknown,
  kind: unknown,
): { readonly model: string; readonly outcome: ModelErrorKind } {
  return {
    model: typeof model === 'string' ? clipText(model, MODEL_NAME_CHARACTERS) : 'unknown',
    outcome: isKind(kind) ? kind : 'fatal',
  };
}

function isKind(kind: unknown): kind is ModelErrorKind {
  return MODEL_ERROR_KINDS.some((known) => known === kind);
}

export function readToolCallPiece(piece: unknown): ToolCallPiece | undefined {
  const call = readSafely(piece, 'call');
  const name = readSafely(piece, 'name');
  const text = readSafely(piece, 'arguments');
  if (!Number.isSafeInteger(call) || (call as number) < 0) return undefined;
  return {
    call: call as number, // checked above
    ...(toolCallSchema.shape.name.safeParse(name).success && { name: name as string }),
    ...(typeof text === 'string' && { arguments: text }),
  };
}

const COUNTS = ['inputTotal', 'cachedInput', 'cacheWrite', 'output', 'outputKept'] as const;

export function readModelUsage(usage: unknown): ModelUsage | undefined {
  if (typeof usage !== 'object' || usage === null) return undefined;
  const counts: Record<string, number> = {};
  for (const name of COUNTS) {
    const count = readSafely(usage, name);
    if (typeof count === 'number') counts[name] = count;
  }
  // `checkUsage` ignores the whole report if a count is missing.
  return counts as unknown as ModelUsage;
}

function isSmallEnough({ content, toolCalls }: Pick<ModelAnswer, 'content' | 'toolCalls'>): boolean {
  const characters = toolCalls.reduce((sum, call) => sum + call.name.length + call.arguments.length, content.length);
  return characters <= MAX_MESSAGE_BYTES;
}

import { z } from 'zod';
import { boundedList, jsonSchema, MAX_CALLS, MAX_MESSAGE_BYTES, toolCallSchema } from './message.ts';
import {
  isModelError,
  MODEL_ERROR_KINDS,
  type ModelAnswer,
  type ModelCompaction,
  ModelError,
  type ModelErrorKind,
  type ModelUsage,
} from './model.ts';
import { safeParse } from './parse.ts';
import { clipText, describeThrown, readSafely } from './thrown.ts';

const MODEL_NAME_CHARACTERS = 256;

/** What an answer is made of. A model of somebody's own may have been written without our types. */
const answerSchema = z
  .object({
    content: z.string(),
    toolCalls: boundedList(toolCallSchema, MAX_CALLS),
    end: z.enum(['complete', 'cut_off', 'refusal']).nullish(),
    model: z.string().min(1).max(MODEL_NAME_CHARACTERS).nullish(),
    raw: jsonSchema.nullish(),
  })
  .refine(({ content, toolCalls }) => countCharacters(content, toolCalls) <= MAX_MESSAGE_BYTES, {
    error: `more than ${MAX_MESSAGE_BYTES} bytes of text and calls`,
  });

/**
 * A plain copy of an answer, bounded: nothing behind this border meets a getter, a cycle or megabytes.
 * @throws ModelError of kind `fatal`: it names the field that does not fit, never what it holds
 */
export function checkAnswer(answer: unknown): ModelAnswer {
  const usage = readUsage(readSafely(answer, 'usage'));
  const read = safeParse(answerSchema, answer, 'answer', 'invalid_input');
  if (!read.success) {
    throw new ModelError('fatal', read.problems[0]?.message ?? 'answer: invalid', usage && { usage });
  }
  const { content, toolCalls, end, model, raw } = read.data;
  return {
    content,
    toolCalls,
    ...(end && { end }),
    ...(usage && { usage }),
    ...(model && { model }),
    ...(raw !== undefined && raw !== null && { raw }),
  };
}

const compactionSchema = z.object({ text: z.string().max(MAX_MESSAGE_BYTES).nullish(), raw: jsonSchema });

/** As `checkAnswer`, of a provider's own compaction. @throws ModelError of kind `fatal` */
export function checkCompaction(compaction: unknown): ModelCompaction {
  const usage = readUsage(readSafely(compaction, 'usage'));
  const read = safeParse(compactionSchema, compaction, 'compaction', 'invalid_input');
  if (!read.success) {
    throw new ModelError('fatal', read.problems[0]?.message ?? 'compaction: invalid', usage && { usage });
  }
  const { text, raw } = read.data;
  return { ...(typeof text === 'string' && { text }), ...(usage && { usage }), raw };
}

const ERROR_CODE_CHARACTERS = 200;
/** A form shows the few entries that a refusal names. */
const ERROR_FORM_CHARACTERS = 64 * 1024;
/** Ten years: no provider means a later time, and no date far beyond can be shown. */
const MAX_RETRY_MS = 315_360_000_000;

/**
 * Whatever a model threw, as a ModelError that can be stored: of a known kind, bounded and without getters. An error that no
 * adapter coded could quote the request, so only its name is kept.
 * @param now ms since epoch
 */
export function readModelError(thrown: unknown, now: number): ModelError {
  if (!isModelError(thrown)) return new ModelError('fatal', describeThrown(thrown).name);
  const { message, code } = describeThrown(thrown);
  const kind = readSafely(thrown, 'kind');
  const retryAt = readSafely(thrown, 'retryAt');
  const form = readSafely(thrown, 'form');
  const usage = readUsage(readSafely(thrown, 'usage'));
  return new ModelError(isKind(kind) ? kind : 'fatal', message, {
    ...(typeof retryAt === 'number' && retryAt >= 0 && retryAt - now <= MAX_RETRY_MS && { retryAt }),
    ...(code !== undefined && { code: clipText(code, ERROR_CODE_CHARACTERS) }),
    ...(typeof form === 'string' && { form: clipText(form, ERROR_FORM_CHARACTERS) }),
    ...(usage && { usage }),
  });
}

/** What a chain tells of a model that it passed over. Both become labels of metrics, so neither is taken as it comes. */
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

const COUNTS = ['inputTotal', 'cachedInput', 'cacheWrite', 'output', 'outputKept'] as const;

/** The numbers of a usage, whatever a model gives as one; `checkUsage` says whether they are counts. */
export function readUsage(usage: unknown): ModelUsage | undefined {
  if (typeof usage !== 'object' || usage === null) return undefined;
  const counts = COUNTS.map((name) => [name, readSafely(usage, name)] as const);
  const numbers = counts.filter(([, count]) => typeof count === 'number');
  // A count that is missing stays missing: `checkUsage` passes over such a usage.
  return Object.fromEntries(numbers) as unknown as ModelUsage;
}

function countCharacters(content: string, toolCalls: ModelAnswer['toolCalls']): number {
  return toolCalls.reduce((sum, call) => sum + call.name.length + call.arguments.length, content.length);
}

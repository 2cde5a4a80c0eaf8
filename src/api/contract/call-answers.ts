import { z } from 'zod';
import type { OutputPart, ToolOutput } from '../../domain/agent.ts';
import { boundedRecord } from '../../domain/bounded-schemas.ts';
import { idSchema } from '../../domain/ids.ts';
import { MAX_CALLS } from '../../domain/message.ts';
import { MAX_RESULT_PARTS } from '../../domain/result-parts.ts';

export type CallAnswer = {
  /** Hash of the answered call, as in `waiting.calls`. The answer then reaches no other call with the same id. */
  readonly hash?: string | undefined;
  /** Person who answers. Shown with the decision. */
  readonly by?: string | undefined;
} & (
  | ToolOutput
  | {
      /** True if the tool call may run. */
      readonly approved: boolean;
      /** Reason of a denial. The model sees it. */
      readonly why?: string;
    }
);

export const answerOptionsSchema = z.strictObject({
  /** Id of the request that brings the answers. `result` lists it in `requests`. */
  request: idSchema.optional(),
});

export type AnswerOptions = z.input<typeof answerOptionsSchema>;

const namingFields = {
  hash: z.string().min(1).max(64).optional(),
  by: z
    .string()
    .min(1)
    .max(200)
    .regex(/^\P{Cc}*$/u, 'must not have line breaks or other control characters')
    .optional(),
};
/** `readResultParts` checks the parts, because a union of schemas would report only that no member matches. */
const partsSchema = z.custom<OutputPart[]>(Array.isArray).meta({
  description: 'Texts, images, PDFs and text files behind the content. In JSON, `data` is base64.',
  override: { type: 'array', minItems: 1, maxItems: MAX_RESULT_PARTS, items: { type: 'object', required: ['type'] } },
});
const approvalSchema = z.strictObject({ approved: z.boolean(), why: z.string().optional(), ...namingFields });
const answerSchema = z.union(
  [
    z.strictObject({
      content: z.string(),
      parts: partsSchema.optional(),
      isError: z.boolean().optional(),
      ...namingFields,
    }),
    approvalSchema,
  ],
  { error: 'expected a tool result {content, parts?, isError?} or a decision {approved, why?}, with {hash?, by?}' },
);

export const answersSchema = boundedRecord(z.string().min(1).max(256), answerSchema, MAX_CALLS).refine(
  (answers) => Object.keys(answers).length > 0,
  'expected at least one answer, under the id of its call',
);

export const answerStatusSchema = z
  .looseObject({ status: z.enum(['answered', 'still_waiting']) })
  .meta({ id: 'AnswerStatus' });

import { z } from 'zod';
import { boundedList, boundedRecord } from './bounded-schemas.ts';
import { gateSettingsSchema } from './gate.ts';
import { jsonSchema } from './message.ts';

/** Amounts of work that a model may be asked for, from least to most. Each model accepts some of them. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type Effort = (typeof EFFORTS)[number];

export const THINKING_TYPES = ['off', 'adaptive', 'budget', 'between_tools'] as const;
export type ThinkingType = (typeof THINKING_TYPES)[number];

/** Form of the thinking in an answer. `summarized`: readable. `omitted`: only what a later request has to repeat. */
const display = z.enum(['summarized', 'omitted']).optional();

export const thinkingSchema = z.discriminatedUnion('type', [
  /** The model answers at once. */
  z.strictObject({ type: z.literal('off') }),
  /** The model decides when and how long it thinks. `effort` guides it. */
  z.strictObject({
    type: z.literal('adaptive'),
    /** Form of the thinking in an answer: `summarized` or `omitted`. */
    display,
  }),
  z.strictObject({
    type: z.literal('budget'),
    /** Maximum tokens of thinking, part of the answer's tokens. */
    budgetTokens: z.number().int().min(1_024),
    /** Form of the thinking in an answer: `summarized` or `omitted`. */
    display,
  }),
  /** The model does not think before its answer, and may write notes between tool calls. */
  z.strictObject({ type: z.literal('between_tools') }),
]);

/** How a model thinks. */
export type Thinking = z.infer<typeof thinkingSchema>;

const toolChoiceSchema = z.union(
  [
    z.enum(['auto', 'none', 'required']),
    z.strictObject({
      /** Name of the tool that the model must call. */
      tool: z.string().min(1),
    }),
  ],
  "expected 'auto', 'none', 'required' or {tool: '…'}",
);

export type ToolChoice = z.infer<typeof toolChoiceSchema>;

/** Request fields that turnfold writes. `extraBody` cannot set these fields, because other values would break the turn. */
const OWN_FIELDS = ['model', 'messages', 'input', 'instructions', 'system', 'tools', 'stream', 'store'];
/** Headers that the client writes from the key, and that describe the body. */
const OWN_HEADERS = ['host', 'content-length', 'content-type', 'transfer-encoding', 'idempotency-key'];

const isFree = (own: readonly string[]) => (fields: object) =>
  Object.keys(fields).every((name) => !own.includes(name.toLowerCase()));

/** Characters that HTTP allows in the name and the value of a header. */
const headerName = z.string().regex(/^[!#$%&'*+.^_`|~\w-]{1,200}$/, 'expected the name of a header');
const headerValue = z
  .string()
  .regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'expected the value of a header, without line breaks');

/** Most members of `extraBody` and of `extraHeaders`. */
const MAX_EXTRAS = 100;

/**
 * Options of a model, the same for all providers. An absent option leaves the choice to the provider. The reference of
 * models lists what that means for each model.
 */
export const modelOptionsSchema = z.strictObject({
  /** How the model thinks before and between its answers. */
  thinking: thinkingSchema.optional(),
  /** How much work the model puts into an answer. `none` turns the reasoning of OpenAI's models off. */
  effort: z.enum(EFFORTS).optional(),
  /** Randomness of the answer. Newer models do not accept it. */
  temperature: z.number().min(0).max(2).optional(),
  /** Share of the most likely tokens to choose from. */
  topP: z.number().gt(0).max(1).optional(),
  /** Texts at which the answer ends. */
  stop: boundedList(z.string().min(1), 8).min(1).optional(),
  /** Maximum tokens of an answer, thinking included. Default: the model's own maximum. */
  maxOutputTokens: z.number().int().min(1).optional(),
  /**
   * Permission to call tools. `required` and `{tool}` hold for the first answer to a message, because a model that
   * must always call a tool never ends its turn.
   */
  toolChoice: toolChoiceSchema.optional(),
  /** The provider's name of a service tier. */
  serviceTier: z.string().min(1).optional(),
  /** Fields that are added to the body of each request. They replace fields of the other options. */
  extraBody: boundedRecord(z.string(), jsonSchema, MAX_EXTRAS)
    .refine(isFree(OWN_FIELDS), `turnfold writes these fields itself: ${OWN_FIELDS.join(', ')}`)
    .optional(),
  /** Headers that are added to each request. */
  extraHeaders: boundedRecord(headerName, headerValue, MAX_EXTRAS)
    .refine(isFree(OWN_HEADERS), `turnfold writes these headers itself: ${OWN_HEADERS.join(', ')}`)
    .optional(),
  /** Name of the output limit on a server with the Chat Completions API. Default `max_completion_tokens`. */
  outputCapField: z.enum(['max_completion_tokens', 'max_tokens']).optional(),
  /**
   * False: the request has no `stream_options`, for a server with the Chat Completions API that refuses them. Usage is
   * then counted by turnfold. Default true.
   */
  streamOptions: z.boolean().optional(),
  /** Limits that all workers obey together for the calls of this model. */
  gate: gateSettingsSchema.optional(),
});

export type ModelOptions = z.infer<typeof modelOptionsSchema>;

/** Abilities of a model, as its provider documents them. An absent field is not known, and nothing is checked by it. */
export interface ModelAbilities {
  /** Types of thinking that the model accepts. */
  readonly thinking?: readonly ThinkingType[];
  /** Type of thinking that the provider uses for a request without a thinking option. */
  readonly defaultThinking?: 'off' | 'adaptive';
  /** Efforts that the model accepts. Empty: the model has no such option. */
  readonly efforts?: readonly Effort[];
  /** Effort that the provider uses for a request without an effort. */
  readonly defaultEffort?: Effort;
  /** Highest effort with which thinking may be `off` or `between_tools`. */
  readonly maxEffortWithoutThinking?: Effort;
  /** When the model accepts `temperature` and `topP`. */
  readonly sampling?: 'always' | 'without_thinking' | 'never';
  /** False if the model calls no tools. */
  readonly tools?: boolean;
  /** False if the provider refuses a request that forces a tool call. */
  readonly forcedTools?: boolean;
  /** When OpenAI's Chat Completions API accepts tools for the model. Its Responses API always does. */
  readonly chatTools?: 'always' | 'without_reasoning' | 'never';
  /** True if the provider holds answers to a JSON Schema. */
  readonly structured?: boolean;
  /** Parts of messages besides text that the model reads. */
  readonly inputs?: readonly ('image' | 'pdf')[];
}

import { z } from 'zod';
import { boundedList, boundedRecord } from './bounded-schemas.ts';
import { gateSettingsSchema } from './gate.ts';
import { jsonSchema } from './message.ts';

/** Levels of effort, from least to most. Each model accepts some of them. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type Effort = (typeof EFFORTS)[number];

export const THINKING_TYPES = ['off', 'adaptive', 'budget', 'between_tools'] as const;
export type ThinkingType = (typeof THINKING_TYPES)[number];

/** `summarized`: readable. `omitted`: only what a later request has to repeat. */
const display = z.enum(['summarized', 'omitted']).optional();

const thinkingSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('off') }),
  /** The model decides when and how long it thinks. `effort` guides it. */
  z.strictObject({
    type: z.literal('adaptive'),
    /** Form of the thinking in an answer: `summarized` or `omitted`. */
    display,
  }),
  z.strictObject({
    type: z.literal('budget'),
    /** Maximum tokens of thinking. They are part of the answer's tokens. */
    budgetTokens: z.number().int().min(1_024),
    /** Form of the thinking in an answer: `summarized` or `omitted`. */
    display,
  }),
  /** The model does not think before the answer. It may write notes between tool calls. */
  z.strictObject({ type: z.literal('between_tools') }),
]);

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

/** turnfold sets these fields of the body. Other values would break the turn. */
const OWN_FIELDS = ['model', 'messages', 'input', 'instructions', 'system', 'tools', 'stream', 'store'];
/** turnfold derives these headers from the key and the body. */
const OWN_HEADERS = ['host', 'content-length', 'content-type', 'transfer-encoding', 'idempotency-key'];

const isFree = (own: readonly string[]) => (fields: object) =>
  Object.keys(fields).every((name) => !own.includes(name.toLowerCase()));

const headerName = z.string().regex(/^[!#$%&'*+.^_`|~\w-]{1,200}$/, 'expected the name of a header');
const headerValue = z
  .string()
  .regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'expected the value of a header, without line breaks');

const MAX_EXTRAS = 100;

/** An absent option leaves the choice to the provider. */
export const modelOptionsSchema = z.strictObject({
  /** How the model thinks before and between its answers. */
  thinking: thinkingSchema.optional(),
  /** `none` turns the reasoning of OpenAI's models off. */
  effort: z.enum(EFFORTS).optional(),
  /** Newer models do not accept a temperature. */
  temperature: z.number().min(0).max(2).optional(),
  /** Share of the most likely tokens to choose from. */
  topP: z.number().gt(0).max(1).optional(),
  /** Texts at which the answer ends. */
  stop: boundedList(z.string().min(1), 8).min(1).optional(),
  /** Maximum tokens of an answer, thinking included. Default: the model's own maximum. */
  maxOutputTokens: z.number().int().min(1).optional(),
  /** `required` and `{tool}` hold for the first answer to a message. Otherwise, the turn would never end. */
  toolChoice: toolChoiceSchema.optional(),
  /** The provider's name of the service tier, such as `flex` of OpenAI. */
  serviceTier: z.string().min(1).optional(),
  /** Added to the body of each request. Replaces fields of the other options. */
  extraBody: boundedRecord(z.string(), jsonSchema, MAX_EXTRAS)
    .refine(isFree(OWN_FIELDS), `turnfold writes these fields itself: ${OWN_FIELDS.join(', ')}`)
    .optional(),
  /** Headers that are added to each request. */
  extraHeaders: boundedRecord(headerName, headerValue, MAX_EXTRAS)
    .refine(isFree(OWN_HEADERS), `turnfold writes these headers itself: ${OWN_HEADERS.join(', ')}`)
    .optional(),
  /** Output limit of a server with the Chat Completions API. Default `max_completion_tokens`. */
  outputCapField: z.enum(['max_completion_tokens', 'max_tokens']).optional(),
  /** False: no `stream_options`, for a server that refuses them. turnfold then counts the usage. Default true. */
  streamOptions: z.boolean().optional(),
  /** Limits that all workers obey together. */
  gate: gateSettingsSchema.optional(),
});

export type ModelOptions = z.infer<typeof modelOptionsSchema>;

/** Abilities of a model, as its provider documents them. If a field is absent, turnfold does not check that option. */
export interface ModelAbilities {
  /** Types of thinking that the model accepts. */
  readonly thinking?: readonly ThinkingType[];
  /** Thinking of a request that does not set `thinking`. */
  readonly defaultThinking?: 'off' | 'adaptive';
  /** Efforts that the model accepts. Empty: the model has no option for the effort. */
  readonly efforts?: readonly Effort[];
  /** Effort of a request that does not set `effort`. */
  readonly defaultEffort?: Effort;
  /** Highest effort with which thinking may be `off` or `between_tools`. */
  readonly maxEffortWithoutThinking?: Effort;
  /** When the model accepts `temperature` and `topP`. */
  readonly sampling?: 'always' | 'without_thinking' | 'never';
  readonly tools?: boolean;
  /** False if the provider refuses a request that forces a tool call. */
  readonly forcedTools?: boolean;
  /** When the Chat Completions API accepts tools for the model. The Responses API always does. */
  readonly chatTools?: 'always' | 'without_reasoning' | 'never';
  /** True if the provider can force answers to match a JSON Schema. */
  readonly structured?: boolean;
  /** Content that the model accepts besides text. */
  readonly inputs?: readonly ('image' | 'pdf')[];
}

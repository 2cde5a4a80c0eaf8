import { z } from 'zod';
import { writeBoundedJson } from './bounded-json.ts';
import { boundedList } from './bounded-schemas.ts';
import { fieldError } from './errors.ts';
import { type JsonSchema } from './json-schema.ts';
import { parseJsonText } from './json-text.ts';
import { isMapping } from './parse.ts';

/** A tool that a turn brings. The turn waits until its caller delivers the result of each call by `answer`. */
export interface OwnTool {
  /** Must match `[a-zA-Z0-9_-]{1,64}`. A name of a tool of the agent is refused. */
  readonly name: string;
  /** Description that the model reads, at most 16 KiB (empty). */
  readonly description?: string | undefined;
  /** JSON Schema of the arguments, at most 64 KiB. It must describe an object. */
  readonly parameters: JsonSchema;
}

/** Form of the final answer of one turn. */
export interface OwnAnswer {
  /** JSON Schema of the answer, at most 64 KiB. It must describe an object. */
  readonly schema: JsonSchema;
  /** Name of the form for the provider, as `[a-zA-Z0-9_-]{1,64}` (`answer`). */
  readonly name?: string | undefined;
}

const TOOL_CHOICES = ['auto', 'none', 'required'] as const;
/** `none`: the model calls no tool. `required`: the first model call of the turn must call a tool. */
export type TurnToolChoice = (typeof TOOL_CHOICES)[number];

/** Parts of a request that apply to one turn only, as far as its agent accepts them. */
export interface TurnOwn {
  /** Tools beside those of the agent, at most 128, and 256 KiB as JSON (none). No worker runs them. */
  readonly tools?: readonly OwnTool[] | undefined;
  /** Instructions behind the system prompt and the pins of the agent, at most 64 KiB (none). */
  readonly instructions?: string | undefined;
  /** Form of the final answer, instead of the form that the agent asks for. */
  readonly answer?: OwnAnswer | undefined;
  /** Use of tools (`auto`). */
  readonly toolChoice?: TurnToolChoice | undefined;
  /** Maximum output tokens of each model call of the turn (the maximum of the model). */
  readonly maxOutputTokens?: number | undefined;
}

/** Parts of a turn that an agent takes from callers. Each is true by default. */
export interface Accepts {
  /** Tools that callers bring (true). */
  readonly tools?: boolean | undefined;
  /** Instructions of callers (true). */
  readonly instructions?: boolean | undefined;
  /** Schema of the answer by callers (true). */
  readonly answer?: boolean | undefined;
  /** Images and files in the user message (true). */
  readonly parts?: boolean | undefined;
}

export const OWN_LIMITS = {
  tools: 128,
  toolsBytes: 262_144,
  descriptionBytes: 16_384,
  instructionsBytes: 65_536,
  schemaBytes: 65_536,
  outputTokens: 1_000_000,
} as const;

/** Maximum depth of a schema. Providers accept less. */
const SCHEMA_DEPTH = 64;

/** Providers refuse a schema with such a keyword at its top level. */
export const NOT_AT_THE_TOP = ['oneOf', 'anyOf', 'allOf', 'not', 'enum'];

export const LEGAL_TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const nameSchema = z.string().regex(LEGAL_TOOL_NAME, 'expected a name that matches [a-zA-Z0-9_-]{1,64}');

function boundedText(bytes: number): z.ZodString {
  // Pages cut texts within an emoji. Providers refuse a request with half of a surrogate pair (wire rule X8).
  const wellFormed = z.string().overwrite((text) => text.toWellFormed());
  return wellFormed.refine((text) => Buffer.byteLength(text) <= bytes, `expected at most ${bytes} bytes`);
}

/** Copies a JSON Schema of an object. */
const objectSchema = z
  .unknown()
  .transform((given, context): JsonSchema => {
    const written = writeBoundedJson(given, { maxCharacters: OWN_LIMITS.schemaBytes, maxDepth: SCHEMA_DEPTH });
    if (written.status === 'written') {
      const bytes = Buffer.byteLength(written.json);
      if (bytes > OWN_LIMITS.schemaBytes) {
        refuseSize(context, bytes, OWN_LIMITS.schemaBytes);
        return z.NEVER;
      }
      let isBroken = false;
      const copy: unknown = JSON.parse(written.json, (name, value: unknown) => {
        isBroken ||= !name.isWellFormed() || (typeof value === 'string' && !value.isWellFormed());
        return value;
      });
      const fault = isBroken ? 'half of a surrogate pair cannot be sent to a provider' : findFault(copy);
      if (fault === undefined) return copy as JsonSchema;
      context.addIssue({ code: 'custom', message: fault });
      return z.NEVER;
    }
    const { path, why, code } = written;
    context.addIssue({ code: 'custom', path: [...path], message: why, params: { code } });
    return z.NEVER;
  })
  .meta({ type: 'object' });

function refuseSize(context: z.RefinementCtx, bytes: number, limit: number): void {
  const message = `${bytes} bytes as JSON exceed the limit of ${limit} bytes`;
  context.addIssue({ code: 'custom', message, params: { code: 'message_too_large' } });
}

function findFault(schema: unknown): string | undefined {
  if (!isMapping(schema)) return 'expected a JSON Schema, which is a JSON object';
  const { type = 'object' } = schema;
  if (type !== 'object') return `expected the JSON Schema of an object, as providers do. This schema has another type`;
  const keyword = NOT_AT_THE_TOP.find((name) => Object.hasOwn(schema, name));
  return keyword === undefined ? undefined : `providers refuse ${keyword} at the top of a schema. Put it into a field`;
}

const toolSchema = z.strictObject({
  name: nameSchema.describe('Name by which the model calls the tool.'),
  description: boundedText(OWN_LIMITS.descriptionBytes).optional().describe('Description that the model reads.'),
  parameters: objectSchema.describe('JSON Schema of the arguments, which must describe an object.'),
});

const toolsSchema = boundedList(toolSchema, OWN_LIMITS.tools).superRefine((tools, context) => {
  const names = new Set<string>();
  for (const [index, { name }] of tools.entries()) {
    if (names.has(name)) {
      context.addIssue({
        code: 'custom',
        path: [index, 'name'],
        message: `two tools of this turn have the name "${name}"`,
      });
    }
    names.add(name);
  }
  const bytes = Buffer.byteLength(JSON.stringify(tools));
  if (bytes > OWN_LIMITS.toolsBytes) refuseSize(context, bytes, OWN_LIMITS.toolsBytes);
});

/** Fields of `enqueueTurn`. */
export const turnOwnFields = {
  tools: toolsSchema
    .optional()
    .describe('Tools that the caller answers, beside those of the agent. At most 128, and 256 KiB as JSON.'),
  instructions: boundedText(OWN_LIMITS.instructionsBytes)
    .optional()
    .describe('Instructions for this turn behind the system prompt and pins of the agent, at most 64 KiB.'),
  answer: z
    .strictObject({
      schema: objectSchema.describe('JSON Schema of the answer, which must describe an object.'),
      name: nameSchema.optional().describe('Name of the form for the provider.'),
    })
    .optional()
    .describe('Form of the final answer of this turn, instead of the form of the agent.'),
  toolChoice: z
    .enum(TOOL_CHOICES)
    .optional()
    .describe('Use of tools: auto, none, or required for the first model call of the turn.'),
  maxOutputTokens: z
    .number()
    .int()
    .min(1)
    .max(OWN_LIMITS.outputTokens)
    .optional()
    .describe('Maximum output tokens of each model call of the turn.'),
};

const turnOwnSchema = z.object(turnOwnFields);

/** Collects the fields of `TurnOwn`. Undefined if the turn brings nothing. */
export function pickOwn(given: TurnOwn): TurnOwn | undefined {
  const { tools, instructions, answer, toolChoice, maxOutputTokens } = given;
  const own: TurnOwn = {
    ...(tools !== undefined && tools.length > 0 && { tools }),
    ...(instructions !== undefined && instructions !== '' && { instructions }),
    ...(answer !== undefined && { answer }),
    ...(toolChoice !== undefined && toolChoice !== 'auto' && { toolChoice }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
  };
  return Object.keys(own).length === 0 ? undefined : own;
}

/** JSON for the store. Undefined if the turn brings nothing. */
export function writeTurnOwn(given: TurnOwn): string | undefined {
  const own = pickOwn(given);
  return own && JSON.stringify(own);
}

/** @throws invalid_input if the text is no JSON of this form */
export function readTurnOwn(json: string): TurnOwn {
  const read = turnOwnSchema.safeParse(parseJsonText(json, 'own'));
  if (read.success) return read.data;
  throw fieldError('invalid_input', 'own', read.error.issues[0]?.message ?? 'not readable');
}

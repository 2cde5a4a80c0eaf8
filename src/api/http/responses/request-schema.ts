import { z } from 'zod';
import { boundedList } from '../../../domain/bounded-schemas.ts';
import { idSchema } from '../../../domain/ids.ts';
import { parseInput } from '../../../domain/parse.ts';
import { metadataSchema } from '../../../domain/turn.ts';
import { OWN_LIMITS, pickOwn, type TurnOwn } from '../../../domain/turn-own.ts';
import { readAnswerFormat, readOwnTool, readToolChoice, refuse, refuseParameters } from '../openai/parameters.ts';
import type { ResponseEcho } from './response-object.ts';

const MAX_ITEMS = 5_000;

const contentSchema = z.union([z.string(), boundedList(z.looseObject({ type: z.string() }), 1_000)]);

export const requestItemSchema = z.looseObject({
  type: z.string().default('message'),
  id: z.string().nullish(),
  role: z.enum(['user', 'assistant', 'system', 'developer']).optional(),
  content: contentSchema.nullish(),
  call_id: z.string().optional(),
  name: z.string().optional(),
  arguments: z.string().optional(),
  output: contentSchema.nullish(),
  approval_request_id: z.string().optional(),
  approve: z.boolean().optional(),
  reason: z.string().nullish(),
});

export type RequestItem = z.output<typeof requestItemSchema>;

export const inputSchema = z.union([z.string().min(1), boundedList(requestItemSchema, MAX_ITEMS)]);

export function listItems(input: z.output<typeof inputSchema>): RequestItem[] {
  return typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : input;
}

const toolSchema = z.looseObject({ type: z.string() });

const EXAMPLES = [
  { input: 'Where is my parcel?', conversation: 'support-42', background: true },
  { input: 'And when does it come?', previous_response_id: 'resp_support-42~m1.1', stream: true },
];

const contextFields = {
  model: idSchema.nullish().describe('Name of the agent, for a new conversation.'),
  previous_response_id: z.string().nullish().describe('Response that this one continues.'),
  conversation: z.union([idSchema, z.looseObject({ id: idSchema })]).nullish(),
  instructions: z.string().nullish().describe('Instructions for this response, beside those of the agent.'),
  tools: boundedList(toolSchema, OWN_LIMITS.tools).nullish().describe('Functions that the caller runs.'),
  tool_choice: z.unknown().optional().describe('auto, none, required, or one function.'),
  text: z.looseObject({ format: z.looseObject({ type: z.string() }).nullish() }).nullish(),
};

export const createResponseSchema = z
  .looseObject({
    ...contextFields,
    input: inputSchema,
    stream: z.boolean().nullish(),
    background: z.boolean().nullish(),
    max_output_tokens: z.number().int().min(1).nullish(),
    metadata: metadataSchema.nullish(),
    store: z.boolean().nullish().describe('false: a conversation that this response begins is erased after it.'),
  })
  .meta({ id: 'CreateResponse', examples: EXAMPLES });

export const inputTokensSchema = z
  .looseObject({ ...contextFields, input: inputSchema.nullish() })
  .meta({ id: 'CountInputTokens' });

/** Values of parameters of the Responses API that turnfold need not follow. */
const RULES = {
  truncation: ['auto', 'disabled'],
  reasoning: [{}],
  max_tool_calls: [],
  prompt: [],
  context_management: [],
} as const;

export type ContextFields = z.output<typeof inputTokensSchema>;

/** Fields that concern one response. @throws invalid_input with the name of a parameter that no turn can follow */
export function readRequestOwn(
  body: ContextFields & { readonly max_output_tokens?: number | null | undefined },
): TurnOwn {
  const { instructions, tools: given, text, tool_choice: choice, max_output_tokens: maxOutputTokens } = body;
  const { reasoning, include, ...others } = body;
  refuseParameters(others, new Set(Object.keys(createResponseSchema.shape)), RULES);
  refuseReasoning(reasoning);
  refuseIncluded(include);
  const { format, verbosity = 'medium' } = text ?? {};
  if (verbosity !== 'medium' && verbosity !== null) {
    throw refuse('text.verbosity', 'unsupported_value', 'the agent has its own setting. Leave the parameter out');
  }
  const tools = (given ?? []).map((tool, index) => readOwnTool(tool, `tools[${index}]`));
  const own = {
    ...readToolChoice(choice, tools),
    instructions: instructions ?? undefined,
    answer: readAnswerFormat(format, 'text.format'),
    maxOutputTokens: maxOutputTokens ?? undefined,
  };
  return pickOwn(own) ?? {};
}

/** Contents that a response of turnfold has anyway, or never has an item for. */
const INCLUDABLE: ReadonlySet<unknown> = new Set([
  'code_interpreter_call.outputs',
  'computer_call_output.output.image_url',
  'file_search_call.results',
  'message.input_image.image_url',
  'reasoning.encrypted_content',
  'web_search_call.action.sources',
  'web_search_call.results',
]);

function refuseIncluded(include: unknown): void {
  const asked: readonly unknown[] = Array.isArray(include) ? include : [];
  const index = asked.findIndex((one) => !INCLUDABLE.has(one));
  if (index === -1) return;
  throw refuse(`include[${index}]`, 'unsupported_value', 'turnfold has no such content. Leave the value out');
}

/** A summary of the reasoning is shown anyway, so asking for one changes nothing. */
function refuseReasoning(reasoning: unknown): void {
  const { effort } = (reasoning ?? {}) as { readonly effort?: unknown };
  if (effort === undefined || effort === null) return;
  throw refuse('reasoning.effort', 'unsupported_value', 'the agent has its own setting. Leave the parameter out');
}

/** Fields of the request that its response repeats. */
const ECHOED = ['instructions', 'tools', 'tool_choice', 'text', 'max_output_tokens', 'metadata', 'store'] as const;

export function readEcho(body: z.output<typeof createResponseSchema>): ResponseEcho {
  const given = ECHOED.filter((name) => body[name] !== undefined && body[name] !== null);
  const echo = Object.fromEntries(given.map((name) => [name, body[name]]));
  return { ...echo, ...(body.text?.format === undefined && { text: { format: { type: 'text' } } }) };
}

export function parseCreateBody(body: unknown): z.output<typeof createResponseSchema> {
  const read = parseInput(createResponseSchema, body);
  if (read.store === false && read.background === true) {
    throw refuse('store', 'unsupported_value', 'a background response is stored. Leave out `store` or `background`');
  }
  return read;
}

import { z } from 'zod';
import { idSchema } from '../../../domain/ids.ts';
import { unboundedList, unboundedRecord } from '../../contract/operation.ts';
import { ITEM_STATES, RESPONSE_STATES } from './response-object.ts';

/*
 * Schemas of responses, their items and their events, for the OpenAPI document. `ResponseTable` writes them, and
 * test/http/responses-events.test.ts compares both.
 */

function form<Type extends string, Fields extends z.core.$ZodLooseShape>(id: string, type: Type, fields: Fields) {
  return z.looseObject({ type: z.literal(type), ...fields }).meta({ id });
}

const id = z.string().describe('Id of the item, with the names of its conversation and its turn.');
const status = z.enum(ITEM_STATES);
const name = z.string().describe('Name of the tool.');
const written = z.string().describe('JSON object as text.');
const label = z.literal('turnfold').describe('Stands for the tools that workers run.');

const textPartSchema = form('OutputText', 'output_text', {
  text: z.string(),
  annotations: unboundedList(z.unknown()).describe('Empty.'),
  logprobs: unboundedList(z.unknown()).optional().describe('Empty.'),
});
const summaryPartSchema = form('SummaryText', 'summary_text', { text: z.string() });

const outputItems = [
  form('OutputMessage', 'message', {
    id,
    role: z.literal('assistant'),
    status,
    content: unboundedList(textPartSchema),
  }).describe('A text of the agent.'),
  form('OutputReasoning', 'reasoning', { id, summary: unboundedList(summaryPartSchema) }).describe(
    'Reasoning that the provider showed.',
  ),
  form('FunctionCall', 'function_call', {
    id,
    call_id: z.string().describe('Name of the call for `function_call_output`.'),
    name,
    arguments: written,
    status,
  }).describe('A call that the caller answers.'),
  form('McpCall', 'mcp_call', {
    id,
    server_label: label,
    name,
    arguments: written,
    output: z.string().nullable(),
    error: z.string().nullable(),
    status: z.enum(['completed', 'failed']),
  }).describe('A call that a worker ran.'),
  form('McpApprovalRequest', 'mcp_approval_request', {
    id: z.string().describe('Name of the call for `mcp_approval_response`.'),
    server_label: label,
    name,
    arguments: written.describe('Input that will run, as JSON.'),
  }).describe('A call that waits for a decision.'),
  form('McpApprovalResponse', 'mcp_approval_response', {
    id,
    approval_request_id: z.string(),
    approve: z.boolean(),
  }).describe('A decision on a call.'),
] as const;

const outputItemSchema = z
  .discriminatedUnion('type', outputItems)
  .meta({ id: 'OutputItem', description: 'An item of a response.' });

const inputMessageSchema = form('InputMessage', 'message', {
  id,
  role: z.enum(['user', 'system', 'assistant']),
  status,
  content: unboundedList(z.looseObject({ type: z.enum(['input_text', 'input_image', 'input_file', 'output_text']) })),
});

export const conversationItemSchema = z
  .union([
    ...outputItems,
    inputMessageSchema,
    form('FunctionCallOutput', 'function_call_output', {
      id,
      call_id: z.string(),
      output: z.union([z.string(), unboundedList(z.looseObject({ type: z.string() }))]),
      status,
    }),
  ])
  .meta({ id: 'ConversationItem', description: 'An item of a conversation.' });

const usageSchema = z
  .looseObject({
    input_tokens: z.number(),
    input_tokens_details: z.looseObject({ cached_tokens: z.number() }),
    output_tokens: z.number(),
    output_tokens_details: z.looseObject({ reasoning_tokens: z.number().describe('0: not counted apart.') }),
    total_tokens: z.number(),
  })
  .meta({ id: 'ResponseUsage', description: 'Tokens of all model calls of the turn.' });

const secondsSchema = z.number().describe('Seconds since epoch.');

export const responseSchema = z
  .looseObject({
    id: z.string(),
    object: z.literal('response'),
    created_at: secondsSchema,
    completed_at: secondsSchema.nullable(),
    status: z
      .enum(RESPONSE_STATES)
      .describe('`completed` also if the turn waits for its caller. Then the output ends with the calls.'),
    background: z.boolean(),
    model: idSchema.describe('Name of the agent.'),
    conversation: z.looseObject({ id: idSchema }),
    previous_response_id: z.string().nullable().describe('As in the request that created the response, else null.'),
    output: unboundedList(outputItemSchema),
    error: z
      .looseObject({
        type: z.literal('server_error'),
        code: z.string().describe('Error code, as in docs/reference/errors.md.'),
        message: z.string(),
      })
      .nullable(),
    incomplete_details: z.looseObject({ reason: z.enum(['max_output_tokens', 'content_filter']) }).nullable(),
    usage: usageSchema.nullable().describe('null while the turn is open.'),
    metadata: unboundedRecord(z.string()).describe('As in the request, with the calls that the response waits behind.'),
    store: z.boolean(),
  })
  .meta({ id: 'Response', description: 'A response in the form of Open Responses.' });

const placeSchema = z.number().describe('Place of the event. Numbers have gaps.');
const indexSchema = z.number().describe('Place of the item. Items that are taken back keep their places.');
const logprobs = unboundedList(z.unknown()).describe('Empty.');
const delta = z.string().describe('Characters behind those of the last event.');
const text = z.string().describe('The whole text.');

function event<Type extends string, Fields extends z.core.$ZodLooseShape>(eventId: string, type: Type, fields: Fields) {
  return form(`${eventId}Event`, type, { sequence_number: placeSchema, ...fields });
}

const ofItem = { output_index: indexSchema, item: outputItemSchema };
const ofCall = { item_id: z.string(), output_index: indexSchema };
const ofText = { ...ofCall, content_index: z.literal(0) };
const ofSummary = { ...ofCall, summary_index: z.literal(0) };
const ofResponse = { response: responseSchema };

export const responseEventSchema = z
  .discriminatedUnion('type', [
    event('ResponseCreated', 'response.created', ofResponse),
    event('ResponseQueued', 'response.queued', ofResponse),
    event('ResponseInProgress', 'response.in_progress', ofResponse),
    event('ResponseCompleted', 'response.completed', ofResponse),
    event('ResponseFailed', 'response.failed', ofResponse),
    event('ResponseIncomplete', 'response.incomplete', ofResponse).describe(
      'The answer was cut off or refused, or the response was canceled. Its status says which.',
    ),
    event('OutputItemAdded', 'response.output_item.added', ofItem),
    event('OutputItemDone', 'response.output_item.done', ofItem),
    event('ContentPartAdded', 'response.content_part.added', { ...ofText, part: textPartSchema }),
    event('ContentPartDone', 'response.content_part.done', { ...ofText, part: textPartSchema }),
    event('OutputTextDelta', 'response.output_text.delta', { ...ofText, delta, logprobs }),
    event('OutputTextDone', 'response.output_text.done', { ...ofText, text, logprobs }),
    event('SummaryPartAdded', 'response.reasoning_summary_part.added', { ...ofSummary, part: summaryPartSchema }),
    event('SummaryPartDone', 'response.reasoning_summary_part.done', { ...ofSummary, part: summaryPartSchema }),
    event('SummaryTextDelta', 'response.reasoning_summary_text.delta', { ...ofSummary, delta }),
    event('SummaryTextDone', 'response.reasoning_summary_text.done', { ...ofSummary, text }),
    event('CallArgumentsDelta', 'response.function_call_arguments.delta', { ...ofCall, delta: written }),
    event('CallArgumentsDone', 'response.function_call_arguments.done', { ...ofCall, name, arguments: written }),
    event('ResponseError', 'error', {
      code: z.string().describe('Error code, as in docs/reference/errors.md and docs/reference/http.md.'),
      message: z.string(),
      param: z.null(),
    }).describe('Ends the stream, and not the response.'),
  ])
  .meta({ id: 'ResponseEvent', description: 'An event of Open Responses, discriminated by its type.' });

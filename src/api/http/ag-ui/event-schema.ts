import { z } from 'zod';
import { usageSchema } from '../../contract/conversations.ts';
import { unboundedList } from '../../contract/operation.ts';

/*
 * Schemas of the events that a run streams, for the OpenAPI document. `EventTable` and the streams of runs and threads
 * write these events, and test/http/ag-ui-events.test.ts compares both.
 */

const messageId = z.string().describe('Id of a message: its turn, a slash, and the step.');
const toolCallId = z.string().describe('Id of the call, as in the log.');
const step = z.string().describe('`step` and the number of the model step within the turn.');
const delta = z.string().describe('Characters behind those of the last event.');

function event<Type extends string, Fields extends z.core.$ZodLooseShape>(id: string, type: Type, fields: Fields) {
  return z.looseObject({ type: z.literal(type), ...fields }).meta({ id: `AgUi${id}` });
}

const messageSchema = z
  .looseObject({ id: z.string(), role: z.string() })
  .meta({ id: 'AgUiMessage', description: 'A message of AG-UI.' });

const interruptSchema = z
  .looseObject({
    id: z.string().describe('Name of the call for `resume`. It has the hash of the call.'),
    reason: z.literal('tool_approval'),
    message: z.string(),
    toolCallId,
    metadata: z.looseObject({ name: z.string(), input: z.string().describe('Input that will run, as JSON.') }),
    responseSchema: z.looseObject({}).describe('JSON Schema of the payload of a resume.'),
    expiresAt: z.string().describe('Deadline of the decision in ISO 8601.'),
  })
  .meta({ id: 'AgUiInterrupt', description: 'A call that waits for approval.' });

const interrupts = unboundedList(interruptSchema);
const pendingToolCallIds = unboundedList(z.string()).optional().describe('Calls that wait for results.');

const outcomeSchema = z
  .discriminatedUnion('type', [
    z.looseObject({ type: z.literal('success'), pendingToolCallIds }),
    z.looseObject({ type: z.literal('interrupt'), interrupts }),
    z.looseObject({ type: z.literal('cancelled') }),
  ])
  .meta({
    id: 'AgUiOutcome',
    description: 'How a run ended. Clients before 1.0 get none for a stop and for calls that wait.',
  });

const run = { threadId: z.string(), runId: z.string() };

export const agUiEventSchema = z
  .discriminatedUnion('type', [
    event('RunStarted', 'RUN_STARTED', {
      ...run,
      protocolVersion: z.string().optional().describe('Absent for clients before 1.0.'),
    }),
    event('RunFinished', 'RUN_FINISHED', {
      ...run,
      outcome: outcomeSchema.optional(),
      result: z
        .looseObject({ state: z.literal('canceled') })
        .optional()
        .describe('End of a stopped run, for clients before 1.0.'),
      usage: unboundedList(usageSchema).optional().describe('Tokens of all model calls of the turn.'),
    }),
    event('RunError', 'RUN_ERROR', {
      code: z.string().describe('Error code, as in docs/reference/errors.md and docs/reference/http.md.'),
      message: z.string().describe('Explanation for people.'),
    }),
    event('StepStarted', 'STEP_STARTED', { stepName: step }),
    event('StepFinished', 'STEP_FINISHED', { stepName: step }),
    event('TextMessageStart', 'TEXT_MESSAGE_START', { messageId, role: z.literal('assistant') }),
    event('TextMessageContent', 'TEXT_MESSAGE_CONTENT', { messageId, delta }),
    event('TextMessageEnd', 'TEXT_MESSAGE_END', { messageId }),
    event('ReasoningStart', 'REASONING_START', { messageId }),
    event('ReasoningMessageStart', 'REASONING_MESSAGE_START', { messageId, role: z.literal('reasoning') }),
    event('ReasoningMessageContent', 'REASONING_MESSAGE_CONTENT', { messageId, delta }),
    event('ReasoningMessageEnd', 'REASONING_MESSAGE_END', { messageId }),
    event('ReasoningEnd', 'REASONING_END', { messageId }),
    event('ToolCallStart', 'TOOL_CALL_START', {
      toolCallId,
      toolCallName: z.string(),
      parentMessageId: z.string().describe('Id of the message that makes the call.'),
    }),
    event('ToolCallArgs', 'TOOL_CALL_ARGS', { toolCallId, delta }),
    event('ToolCallEnd', 'TOOL_CALL_END', { toolCallId }),
    event('ToolCallResult', 'TOOL_CALL_RESULT', { messageId, toolCallId, content: z.string() }),
    event('StateSnapshot', 'STATE_SNAPSHOT', { snapshot: z.unknown().describe('The whole shared state.') }),
    event('MessagesSnapshot', 'MESSAGES_SNAPSHOT', { messages: unboundedList(messageSchema) }),
    event('ActivitySnapshot', 'ACTIVITY_SNAPSHOT', {
      messageId,
      activityType: z.enum(['compaction', 'steering']),
      content: z.looseObject({}),
    }),
    event('Custom', 'CUSTOM', {
      name: z.string().describe('`progress`, `waiting`, `turn_ended`, or the name of a value that a tool emitted.'),
      value: z.looseObject({}).describe('As in docs/reference/front-end-protocols.md.'),
    }),
  ])
  .meta({
    id: 'AgUiEvent',
    description: 'An event of AG-UI. The last one is `RUN_FINISHED` or `RUN_ERROR`.',
  });

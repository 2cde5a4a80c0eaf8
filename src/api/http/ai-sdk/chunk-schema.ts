import { z } from 'zod';
import { idSchema } from '../../../domain/ids.ts';
import { usageSchema } from '../../contract/conversations.ts';
import { timeSchema } from '../../contract/operation.ts';

/*
 * Schemas of the chunks that a chat streams, for the OpenAPI document. `ChunkTable` writes them, and
 * test/http/ai-sdk-chunks.test.ts compares both. `reset-step` takes back all parts since `start-step`, for AI SDK 7.
 */

const id = z.string().describe('Id of the open text or reasoning, unique within the stream.');
const toolCallId = z.string().describe('Id of the call, as in the log.');
const toolName = z.string();
const approvalId = z.string().describe('Id of the call with its hash. The decision names it.');
const dynamic = z.literal(true).describe('The page needs no type of this tool.');
const errorText = z.string();

function chunk<Type extends string, Fields extends z.core.$ZodLooseShape>(name: string, type: Type, fields: Fields) {
  return z.looseObject({ type: z.literal(type), ...fields }).meta({ id: `Ui${name}Chunk` });
}

const metadataSchema = z
  .looseObject({
    acceptedAt: timeSchema,
    settledAt: timeSchema.optional(),
    usage: usageSchema.optional(),
    stopped: z.literal(true).optional().describe('The turn was canceled while the model wrote the last part.'),
    canceled: z.literal(true).optional().describe('The turn was canceled.'),
    failed: z
      .looseObject({ code: z.string().describe('Error code, as in docs/reference/errors.md.'), message: z.string() })
      .optional()
      .describe('Why the turn failed. `regenerate` tries again.'),
  })
  .meta({ id: 'UiAnswerMetadata', description: 'Metadata of an answer.' });

const transient = z.literal(true).describe('The chunk enters no message. Pages get it in `onData`.');
const reasons = ['stop', 'length', 'content-filter', 'tool-calls', 'error', 'other'] as const;

const knownChunkSchema = z.discriminatedUnion('type', [
  chunk('Start', 'start', { messageId: idSchema.describe('Id of the answer, which is its turn.') }),
  chunk('StartStep', 'start-step', {}),
  chunk('FinishStep', 'finish-step', {}),
  chunk('ResetStep', 'reset-step', {}),
  chunk('TextStart', 'text-start', { id }),
  chunk('TextDelta', 'text-delta', { id, delta: z.string() }),
  chunk('TextEnd', 'text-end', { id }),
  chunk('ReasoningStart', 'reasoning-start', { id }),
  chunk('ReasoningDelta', 'reasoning-delta', { id, delta: z.string() }),
  chunk('ReasoningEnd', 'reasoning-end', { id }),
  chunk('ToolInputStart', 'tool-input-start', { toolCallId, toolName, dynamic }),
  chunk('ToolInputDelta', 'tool-input-delta', { toolCallId, inputTextDelta: z.string() }),
  chunk('ToolInput', 'tool-input-available', { toolCallId, toolName, dynamic, input: z.unknown() }),
  chunk('ToolInputError', 'tool-input-error', { toolCallId, toolName, dynamic, input: z.unknown(), errorText }),
  chunk('ToolApprovalRequest', 'tool-approval-request', { toolCallId, approvalId }),
  chunk('ToolApprovalResponse', 'tool-approval-response', { approvalId, approved: z.boolean() }),
  chunk('ToolOutput', 'tool-output-available', {
    toolCallId,
    dynamic,
    output: z.unknown().describe('JSON or text of the tool, or `{content, parts}` for a result with images.'),
    preliminary: z.literal(true).optional().describe('A later output replaces this one.'),
  }),
  chunk('ToolOutputError', 'tool-output-error', { toolCallId, dynamic, errorText }),
  chunk('ToolOutputDenied', 'tool-output-denied', { toolCallId }),
  chunk('MessageMetadata', 'message-metadata', { messageMetadata: metadataSchema }),
  chunk('Finish', 'finish', { finishReason: z.enum(reasons), messageMetadata: metadataSchema.optional() }),
  chunk('Abort', 'abort', { reason: z.literal('canceled') }),
  chunk('Error', 'error', { errorText: z.string().describe('Error code, a colon, and an explanation.') }),
]);

const dataChunkSchema = z
  .looseObject({
    type: z.templateLiteral(['data-', z.string()]),
    id: z.string().optional().describe('A later chunk of the same type and id replaces this one.'),
    data: z.unknown(),
    transient: transient.optional(),
  })
  .meta({
    id: 'UiDataChunk',
    description:
      'A data part: `data-turn`, `data-progress`, `data-steering`, `data-compaction`, `data-approval`, `data-restart`, or `data-<name>` for a value that a tool emitted.',
  });

export const chunkSchema = z
  .union([knownChunkSchema, dataChunkSchema])
  .meta({ id: 'UiMessageChunk', description: 'A chunk of the UI message stream, version 1, of the AI SDK.' });

import { z } from 'zod';
import { idSchema } from '../../domain/ids.ts';
import { SETTLED_STATES, WAIT_KINDS } from '../../domain/turn.ts';
import { usageSchema } from './conversations.ts';
import { timeSchema, unboundedList, unboundedRecord } from './operation.ts';
import { turnSchema, waitSchema } from './turns.ts';

/* Schemas of the events that the routes stream, for the OpenAPI document. `id` is the id of the server-sent event. */

const step = z.number().describe('Number of the model step within the turn, from 1.');
const call = z.string().describe('Id of the call, as in the log and for an answer.');
const tokens = z.number().describe('Tokens.');

function part<Type extends string, Fields extends z.core.$ZodLooseShape>(id: string, type: Type, fields: Fields) {
  return z.looseObject({ type: z.literal(type), ...fields }).meta({ id });
}

const decisionSchema = z.looseObject({
  approved: z.boolean().optional(),
  at: timeSchema,
  by: z.string().optional().describe('Person or program that decided.'),
});

export const turnPartSchema = z
  .discriminatedUnion('type', [
    part('TextPart', 'text', { step, piece: z.string().describe('Characters behind those of the last piece.') }),
    part('ReasoningPart', 'reasoning', { step, piece: z.string() }),
    part('ToolCallStartPart', 'tool-call-start', { step, call, name: z.string() }),
    part('ToolCallArgumentsPart', 'tool-call-arguments', { step, call, piece: z.string() }),
    part('ToolCallPart', 'tool-call', {
      step,
      call,
      name: z.string(),
      arguments: z.string().describe('JSON object as text, exactly as the model wrote it.'),
    }),
    part('ToolResultPart', 'tool-result', {
      step,
      call,
      content: z.string(),
      parts: unboundedList(z.unknown()).optional().describe('Texts, images and files of the result.'),
      isError: z.boolean(),
      decision: decisionSchema.optional(),
    }),
    part('ProgressPart', 'progress', {
      step,
      call,
      text: z.string().optional(),
      done: z.number().optional(),
      total: z.number().optional(),
    }),
    part('DataPart', 'data', { step, call, name: z.string(), key: z.string().optional(), data: z.unknown() }),
    part('SteeringPart', 'steering', { step, turn: idSchema, seq: z.number(), content: z.string() }),
    part('RestartPart', 'restart', { step }),
    part('WaitPart', 'wait', { waiting: waitSchema }),
    part('BehindPart', 'behind', { turn: idSchema, waiting: waitSchema }),
    part('CompactionPart', 'compaction', {
      version: z.number(),
      tokensBefore: tokens,
      tokensAfter: tokens,
      archived: z.number().describe('Number of messages that left the context.'),
    }),
    part('EndPart', 'end', { view: turnSchema }),
  ])
  .meta({ id: 'TurnPart', description: 'A part of a turn, as in docs/reference/client.md. The last part is `end`.' });

const at = timeSchema;

const versionFields = {
  at,
  strategy: z.string(),
  archived: z.number().describe('Number of messages that left the context.'),
  tokensBefore: tokens,
  tokensAfter: tokens,
  reasons: unboundedList(z.string()),
};

const reportedCall = z.looseObject({ id: z.string(), name: z.string(), arguments: z.string(), until: timeSchema });

export const conversationEventSchema = z
  .discriminatedUnion('type', [
    part('TurnSettledEvent', 'turn_settled', {
      at,
      turn: idSchema,
      state: z.enum(SETTLED_STATES),
      usage: usageSchema.optional(),
    }),
    part('TurnSteeredEvent', 'turn_steered', { at, turn: idSchema, into: idSchema, seq: z.number() }),
    part('TurnWaitingEvent', 'turn_waiting', {
      at,
      turn: idSchema,
      for: z.enum(WAIT_KINDS),
      until: timeSchema,
      calls: unboundedList(reportedCall),
    }),
    part('VersionCommittedEvent', 'version_committed', {
      ...versionFields,
      version: z.number(),
      cause: z.string(),
      durationMs: z.number(),
      model: z.string().optional(),
    }),
    part('PassEndedEvent', 'pass_ended', { at, passId: z.string(), outcome: z.string() }),
    part('VersionProposedEvent', 'version_proposed', { ...versionFields, passId: z.string(), proposal: idSchema }),
    part('ProposalDecidedEvent', 'proposal_decided', {
      at,
      proposal: idSchema,
      verdict: z.enum(['approve', 'reject']),
      reason: z.string().optional(),
    }),
    part('ApprovalRefusedEvent', 'approval_refused', { at, passId: z.string(), code: z.string() }),
    part('UnknownEvent', 'unknown', { at, name: z.string(), fields: unboundedRecord(z.string()) }),
    part('LostEvents', 'lost', {}),
    part('EndOfEvents', 'end', {}),
  ])
  .meta({
    id: 'ConversationEvent',
    description: 'A durable event, or `lost`, as in docs/reference/client.md. After `waitMs`, `end`.',
  });

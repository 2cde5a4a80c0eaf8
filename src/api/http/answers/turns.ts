import { z } from 'zod';
import { idSchema } from '../../../domain/ids.ts';
import { ANSWER_ENDS, ANSWER_KINDS, TURN_STATES, waitingSchema } from '../../../domain/turn.ts';
import { usageSchema } from './conversations.ts';
import { problemSchema } from './problems.ts';

const time = z.number().describe('ms since epoch, by the clock of Redis');

const failureSchema = z
  .looseObject({
    code: z.string().describe('Error code, as in docs/reference/errors.md.'),
    message: z.string(),
    details: z.record(z.string(), z.unknown()).optional(),
  })
  .meta({ id: 'TurnFailure' });

const waitSchema = waitingSchema.meta({ id: 'Waiting', description: 'Why and until when a suspended turn waits.' });

export const turnSchema = z
  .looseObject({
    turn: idSchema,
    agent: idSchema,
    state: z.enum(TURN_STATES),
    acceptedAt: time,
    inputSeq: z.number().optional().describe('Position (seq) of the user message in the log.'),
    redriveOf: idSchema.optional(),
    redrivenAs: idSchema.optional(),
    requests: z
      .array(idSchema)
      .optional()
      .describe('The last requests that brought answers to calls of the turn, by the id they gave.'),
    requestTokens: z.array(z.number()).describe('Tokens of each model request so far.'),
    usage: usageSchema.optional(),
    settledAt: time.optional(),
    waiting: waitSchema.optional(),
    answer: z
      .looseObject({
        seq: z.number(),
        content: z.string(),
        end: z.enum(ANSWER_ENDS).optional(),
        value: z.unknown().optional(),
      })
      .optional()
      .describe('Present if the turn is completed.'),
    stopped: z
      .looseObject({ seq: z.number(), content: z.string() })
      .optional()
      .describe('Present if the turn was canceled after text of its model had been streamed: that text.'),
    failure: failureSchema.optional().describe('Present if the turn failed.'),
  })
  .meta({ id: 'Turn', description: 'A turn. `state` decides which other fields are present.' });

export const enqueuedSchema = z
  .looseObject({ conversation: idSchema, turn: idSchema })
  .meta({ id: 'EnqueuedTurn', description: 'The accepted turn. Its state is at the URL in `Location`.' });

export const turnListAnswerSchema = z
  .looseObject({
    turns: z.array(
      z.union([
        z.looseObject({ conversation: idSchema, turn: idSchema, state: z.enum(TURN_STATES), isNew: z.boolean() }),
        z.looseObject({ problem: problemSchema }),
      ]),
    ),
  })
  .meta({ id: 'EnqueuedTurns', description: 'The answer to each turn, in the order of the request.' });

export const openTurnsSchema = z
  .looseObject({
    turns: z.array(
      z.looseObject({
        turn: idSchema,
        state: z.enum(TURN_STATES),
        acceptedAt: time,
        dueAt: time.optional(),
        input: z
          .string()
          .optional()
          .describe('Text of the turn, if the request has `inputs` and no worker has claimed the turn.'),
        waiting: waitSchema.optional(),
      }),
    ),
    mailbox: z.number(),
    scheduled: z.number(),
    at: time.describe('Time of the list by the clock of Redis, as of all other times.'),
  })
  .meta({ id: 'OpenTurns', description: 'Unsettled turns in the order in which they run.' });

export const waitingPageSchema = z
  .looseObject({
    turns: z.array(
      z.looseObject({
        conversation: idSchema,
        turn: idSchema,
        agent: idSchema,
        waiting: waitSchema.extend({ for: z.enum(ANSWER_KINDS) }),
      }),
    ),
    next: z.string().optional().describe('Cursor of the next page, to send as `after`.'),
  })
  .meta({ id: 'WaitingPage' });

export const failedTurnsSchema = z
  .looseObject({
    turns: z.array(
      z.looseObject({
        conversation: idSchema,
        turn: idSchema,
        agent: idSchema,
        failedAt: time,
        failure: failureSchema,
        redriveOf: idSchema.optional(),
        redrivenAs: idSchema.optional(),
      }),
    ),
  })
  .meta({ id: 'FailedTurns' });

export const turnPartSchema = z
  .looseObject({ type: z.string(), step: z.number().optional() })
  .meta({ id: 'TurnPart', description: 'A part of a turn, as in docs/reference/client.md. The last part is `end`.' });

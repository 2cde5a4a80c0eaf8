import { z } from 'zod';
import { idSchema } from '../../domain/ids.ts';
import {
  ANSWER_ENDS,
  ANSWER_KINDS,
  metadataSchema,
  TURN_STATES,
  type TurnState,
  waitingSchema,
} from '../../domain/turn.ts';
import type { FailedTurn } from '../../store/failed-turns.ts';
import type { WaitingTurn } from '../../store/listings.ts';
import type { OpenTurns } from '../../store/open-turns.ts';
import type { AnyAgents, ViewFor } from './agent-types.ts';
import {
  type AnswerOptions,
  answerOptionsSchema,
  answerStatusSchema,
  answersSchema,
  type CallAnswer,
} from './call-answers.ts';
import { usageSchema } from './conversations.ts';
import { type CancelOptions, type ConversationName, cancelOptionsSchema, nextSchema, pageFields } from './names.ts';
import {
  CONVERSATION,
  limitOf,
  MAX_WAIT_MS,
  type Operations,
  TURN,
  timeSchema,
  unboundedList,
  unboundedRecord,
} from './operation.ts';
import { type TurnSteps, turnStepsSchema } from './turn-steps.ts';

export interface TurnMethods<Agents extends AnyAgents = AnyAgents> {
  /** Returns the current state of a turn. With `waitMs`, waits for the turn to settle. */
  result(conversation: ConversationName, turn: string, options?: ResultOptions): Promise<ViewFor<Agents>>;
  /** Shows model and tool calls of a turn with their times, and the claim of its worker. */
  steps(conversation: ConversationName, turn: string): Promise<TurnSteps>;
  /** Settles a turn as canceled. Returns the state afterwards, e.g. `completed` if the turn settled first. */
  cancel(conversation: ConversationName, turn: string, options?: CancelOptions): Promise<TurnState>;
  /**
   * Answers calls of a waiting turn by call id, with results of external tools or with decisions. All answers are
   * stored, or none. The first answer to a call counts: a different one fails with `conflict`.
   */
  answer(
    conversation: ConversationName,
    turn: string,
    answers: Readonly<Record<string, CallAnswer>>,
    options?: AnswerOptions,
  ): Promise<'answered' | 'still_waiting'>;
  /** Lists unsettled turns in their order, scheduled ones last. The first has the calls that it waits for. */
  openTurns(conversation: ConversationName, input?: OpenTurnsInput): Promise<OpenTurns>;
  /** Lists turns of all conversations that wait for results or approvals, with their calls. */
  waiting(input?: WaitingInput): Promise<WaitingPage>;
  /** Lists failed turns of the last 7 days, newest first. */
  failedTurns(input?: FailedInput): Promise<FailedTurn[]>;
}

export interface ResultOptions {
  /** How long to wait for the turn to settle, in ms (0). */
  readonly waitMs?: number;
  /** When this signal aborts, the call throws the signal's reason. */
  readonly signal?: AbortSignal;
}

export const openTurnsSchema = z.strictObject({
  /** Maximum number of turns to return (100, at most 1,000). The total count is always returned. */
  limit: limitOf(1_000),
  /** true: turns that no worker has claimed have their text, images and files (false), up to 4 million characters together. */
  inputs: z
    .boolean()
    .optional()
    .meta({
      description: 'true: show texts, images and files of turns that no worker has claimed.',
      override: { type: 'string' },
    }),
});

const waitingQuery = z.strictObject({
  ...pageFields,
  /** `tools`: turns that wait for results. `approval`: turns that wait for decisions. Absent: both. */
  for: z.enum(ANSWER_KINDS).optional(),
});

const tenantField = {
  /** Only turns of this tenant. Absent: all tenants. */
  tenant: idSchema.optional(),
};

const failedQuery = z.strictObject({
  /** Only turns that failed at this time or later, in ms since epoch. */
  since: z.number().min(0).optional().describe('Only turns that failed since then, in ms since epoch.'),
  /** Only turns that failed with this error code, e.g. `poison`. */
  code: z.string().min(1).optional().describe('Only turns that failed with this error code.'),
  /** Maximum number of turns to return (100). */
  limit: limitOf(10_000),
});

export const waitingInputSchema = waitingQuery.extend(tenantField);
export const failedSchema = failedQuery.extend(tenantField);

export type OpenTurnsInput = z.input<typeof openTurnsSchema>;
export type WaitingInput = z.input<typeof waitingInputSchema>;
export type FailedInput = z.input<typeof failedSchema>;

export interface WaitingPage {
  /** Turns in a stable order that is not chronological. */
  readonly turns: readonly WaitingTurn[];
  /** Cursor for the next page, to pass as `after`. Absent on the last page. Other pages may be short or empty. */
  readonly next?: string;
}

const failureSchema = z
  .looseObject({
    code: z.string().describe('Error code, as in docs/reference/errors.md.'),
    message: z.string(),
    details: unboundedRecord(z.unknown()).optional(),
  })
  .meta({ id: 'TurnFailure' });

export const openWaitSchema = waitingSchema.meta({
  id: 'Waiting',
  description: 'Why and until when a suspended turn waits.',
});

export const turnSchema = z
  .looseObject({
    turn: idSchema,
    agent: idSchema,
    state: z.enum(TURN_STATES),
    acceptedAt: timeSchema,
    inputSeq: z.number().optional().describe('Position (seq) of the user message in the log.'),
    metadata: metadataSchema.optional().describe('Names and values that the caller gave.'),
    redriveOf: idSchema.optional(),
    redrivenAs: idSchema.optional(),
    requests: unboundedList(idSchema)
      .optional()
      .describe('The last requests that brought answers to calls of the turn, by the id they gave.'),
    requestTokens: unboundedList(z.number()).describe('Tokens of each model request so far.'),
    usage: usageSchema.optional(),
    settledAt: timeSchema.optional(),
    waiting: openWaitSchema.optional(),
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

const openTurnsAnswer = z
  .looseObject({
    turns: unboundedList(
      z.looseObject({
        turn: idSchema,
        state: z.enum(TURN_STATES),
        acceptedAt: timeSchema,
        dueAt: timeSchema.optional(),
        input: z.string().optional().describe('Text, with `inputs`, while no worker has claimed the turn.'),
        inputParts: unboundedList(z.looseObject({ type: z.string() }))
          .optional()
          .describe('Images and files of the turn, with its text. Absent if there are none.'),
        waiting: openWaitSchema.optional(),
      }),
    ),
    mailbox: z.number(),
    scheduled: z.number(),
    at: timeSchema.describe('Time of the list by the clock of Redis, as of all other times.'),
  })
  .meta({ id: 'OpenTurns', description: 'Unsettled turns in the order in which they run.' });

const waitingPageSchema = z
  .looseObject({
    turns: unboundedList(
      z.looseObject({
        conversation: idSchema,
        turn: idSchema,
        agent: idSchema,
        waiting: openWaitSchema.extend({ for: z.enum(ANSWER_KINDS) }),
      }),
    ),
    next: nextSchema,
  })
  .meta({ id: 'WaitingPage' });

const failedTurnsSchema = z
  .looseObject({
    turns: unboundedList(
      z.looseObject({
        conversation: idSchema,
        turn: idSchema,
        agent: idSchema,
        failedAt: timeSchema,
        failure: failureSchema,
        redriveOf: idSchema.optional(),
        redrivenAs: idSchema.optional(),
      }),
    ),
  })
  .meta({ id: 'FailedTurns' });

/** Half the time after which proxies often end a request. */
const RESULT_WAIT_MS = 30_000;

export const turnOperations = {
  openTurns: {
    method: 'get',
    path: `${CONVERSATION}/turns`,
    scope: 'read',
    command: 'turns',
    errors: ['not_found'],
    summary: 'List the unsettled turns of a conversation in the order in which they run.',
    query: openTurnsSchema,
    answer: openTurnsAnswer,
  },
  showTurn: {
    method: 'get',
    path: TURN,
    scope: 'read',
    command: 'result',
    errors: ['not_found'],
    summary: 'Show the state of a turn: its answer, its failure or the calls that it waits for.',
    answer: turnSchema,
  },
  steps: {
    method: 'get',
    path: `${TURN}/steps`,
    scope: 'read',
    command: { none: 'for the page of `turnfold inspect`' },
    errors: ['not_found'],
    summary: 'Show the model and tool calls of a turn with their times, and the attempt and lease of its worker.',
    answer: turnStepsSchema,
  },
  result: {
    method: 'get',
    path: `${TURN}/result`,
    scope: 'read',
    command: 'result',
    errors: ['not_found'],
    summary: 'Wait until a turn has settled, then show it. After `waitMs` the answer is its present state.',
    query: z.strictObject({ waitMs: z.number().int().min(0).max(MAX_WAIT_MS).default(RESULT_WAIT_MS) }),
    waits: true,
    answer: turnSchema,
  },
  cancel: {
    method: 'post',
    path: `${TURN}/cancel`,
    scope: 'enqueue',
    command: 'cancel',
    errors: ['not_found', 'conflict'],
    summary: 'Settle a turn as canceled. The answer is the state afterwards, e.g. completed if the turn settled first.',
    body: cancelOptionsSchema.default({}),
    answer: z.looseObject({ state: z.enum(TURN_STATES) }).meta({ id: 'TurnStateOnly' }),
    member: 'state',
  },
  answer: {
    method: 'post',
    path: `${TURN}/answers`,
    scope: 'answer',
    command: 'answer',
    errors: ['not_found', 'conflict', 'message_too_large'],
    summary: 'Answer calls that a turn waits for, with results or with decisions, by call id. All are stored, or none.',
    args: ['conversation', 'turn', 'answers'],
    body: answerOptionsSchema.extend({ answers: answersSchema }),
    answer: answerStatusSchema,
    member: 'status',
  },
  waiting: {
    method: 'get',
    path: '/v1/waiting',
    scope: 'read',
    command: 'waiting',
    summary: 'List turns of all conversations that wait for a result or a decision, in pages.',
    query: waitingQuery,
    answer: waitingPageSchema,
    tenantless: 'turns',
  },
  failedTurns: {
    method: 'get',
    path: '/v1/failed-turns',
    scope: 'read',
    command: 'failed',
    summary: 'List failed turns of all conversations in the last seven days, newest first.',
    query: failedQuery,
    answer: failedTurnsSchema,
    member: 'turns',
    tenantless: 'turns',
  },
} satisfies Operations;

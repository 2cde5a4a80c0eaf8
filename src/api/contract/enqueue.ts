import { z } from 'zod';
import type { TurnfoldError } from '../../domain/errors.ts';
import { idSchema, type NamedConversation } from '../../domain/ids.ts';
import { TURN_STATES, type TurnState } from '../../domain/turn.ts';
import type { AnyAgents, EnqueueFor } from './agent-types.ts';
import { enqueueSchema, turnListSchema } from './enqueue-input.ts';
import type { ConversationName } from './names.ts';
import { CONVERSATION, type Operations, problemSchema, TURN, unboundedList } from './operation.ts';

export interface EnqueueMethods<Agents extends AnyAgents = AnyAgents> {
  /** Stores a turn durably for the workers. A repeated call with the same `turn` id returns its current state. */
  enqueueTurn(input: EnqueueFor<Agents>): Promise<EnqueuedTurn>;
  /** Stores up to 500 turns in about two round trips. Each has its own answer, in the order of the list. */
  enqueueTurns(inputs: readonly EnqueueFor<Agents>[]): Promise<EnqueueAnswer[]>;
  /** Enqueues the input of a failed turn again. A repeated call with the same `operation` returns the same new turn. */
  redrive(conversation: ConversationName, turn: string, input?: RedriveInput): Promise<EnqueuedTurn>;
}

export interface EnqueuedTurn extends NamedConversation {
  /** Id of the turn: the caller's, or a new one. */
  readonly turn: string;
  /** State of the turn at the moment the call returned. */
  readonly state: TurnState;
  /** False if the turn existed before, perhaps because the answer of an earlier attempt was lost. */
  readonly isNew: boolean;
}

export type EnqueueAnswer =
  | ({ readonly status: 'enqueued' } & EnqueuedTurn)
  | { readonly status: 'refused'; readonly error: TurnfoldError };

export const redriveSchema = z.strictObject({
  /** Id of the repetition. Without an id, a failed turn is re-driven at most once. */
  operation: idSchema.optional(),
  /** Context of the new turn. That of the failed turn was erased. */
  context: z.unknown().optional(),
  /** Priority of the conversation in the queue, 1 is first. */
  priority: z.number().int().min(1).max(2_097_151).optional(),
});

export type RedriveInput = z.input<typeof redriveSchema>;

/** Header with the state of a turn. The body has no state, so that a repeated request gets the same body. */
export const STATE_HEADER = 'turnfold-turn-state';

const enqueuedSchema = z
  .looseObject({ conversation: idSchema, turn: idSchema })
  .meta({ id: 'EnqueuedTurn', description: 'The accepted turn. Its state is at the URL in `Location`.' });

const turnListAnswerSchema = z
  .looseObject({
    turns: unboundedList(
      z.union([
        z.looseObject({ conversation: idSchema, turn: idSchema, state: z.enum(TURN_STATES), isNew: z.boolean() }),
        z.looseObject({ problem: problemSchema }),
      ]),
    ),
  })
  .meta({ id: 'EnqueuedTurns', description: 'The answer to each turn, in the order of the request.' });

const { conversation: _conversation, tenant: _tenant, ...enqueueFields } = enqueueSchema.shape;

export const enqueueOperations = {
  enqueueTurn: {
    method: 'post',
    path: `${CONVERSATION}/turns`,
    scope: 'enqueue',
    command: 'enqueue',
    errors: [
      'agent_conflict',
      'conflict',
      'mailbox_full',
      'conversation_busy',
      'conversation_forking',
      'fork_abandoned',
      'message_too_large',
    ],
    summary: 'Send a message to an agent. The turn is stored durably before the answer.',
    repeatedBy: 'turn',
    args: [],
    body: z.strictObject(enqueueFields),
    status: 202,
    answer: enqueuedSchema,
  },
  enqueueTurns: {
    method: 'post',
    path: '/v1/turns',
    scope: 'enqueue',
    command: { none: 'a shell sends one turn per command' },
    summary:
      'Send messages to agents, in several conversations. Each turn has its own answer. A refused one does not stop the others.',
    body: z.strictObject({
      turns: turnListSchema.describe(
        'Turns with the fields of `enqueueTurn` and `conversation`. Give each a `turn` id, so that the request can be repeated.',
      ),
    }),
    answer: turnListAnswerSchema,
  },
  redrive: {
    method: 'post',
    path: `${TURN}/redrive`,
    scope: 'enqueue',
    command: 'redrive',
    errors: ['not_found', 'turn_not_failed', 'gone', 'mailbox_full', 'message_too_large'],
    summary: 'Enqueue the input of a failed turn again, as a new turn behind all queued ones.',
    repeatedBy: 'operation',
    repeatsItself: true,
    keyName: 'redriveTurn',
    body: redriveSchema.default({}),
    status: 202,
    answer: enqueuedSchema,
  },
} satisfies Operations;

import { NO_PLACE } from './common-refusals.ts';
import type { Refusals } from './refusal.ts';
import type { World } from './world.ts';

/** A message of more than 1 MiB. */
export const LARGE_TEXT = 'x'.repeat(1_100_000);
/** Context data of more than 16 KiB. */
const LARGE_CONTEXT = { note: 'x'.repeat(20_000) };
const ABSENT = { conversation: 'none' };
const DONE = { conversation: 'kept', turn: 'done' };
const KEY = { 'idempotency-key': 'key-1' };

export function turnRefusals({ call }: World): Refusals {
  const refund = { conversation: 'waiting', turn: 'refund' };
  return {
    enqueueTurn: [
      { code: 'invalid_input', field: 'input', says: 'expected text', body: { input: 1 } },
      {
        code: 'agent_conflict',
        field: 'agent',
        says: 'conversation kept belongs to the agent support. Use that agent, or another conversation',
        params: { conversation: 'kept' },
        body: { agent: 'other' },
      },
      {
        code: 'conflict',
        field: 'owner',
        says: 'conversation owned belongs to another owner, or to none. Use another conversation, or change its owner',
        params: { conversation: 'owned' },
        body: { owner: 'bob' },
      },
      {
        code: 'mailbox_full',
        field: 'conversation',
        says: 'the conversation has 1 of at most 1 turns that are queued, running or waiting. Try again once turns have settled',
        params: { conversation: 'waiting' },
        body: { maxQueuedTurns: 1 },
      },
      {
        code: 'conversation_busy',
        field: 'conversation',
        says: 'onBusy is reject, and the conversation has turns that are queued or in flight (1). Try again once they have settled',
        params: { conversation: 'waiting' },
        body: { onBusy: 'reject' },
      },
      {
        code: 'conversation_forking',
        field: 'conversation',
        says: 'copying is being created by a fork. Wait until the fork is complete',
        params: { conversation: 'copying' },
      },
      {
        code: 'fork_abandoned',
        field: 'conversation',
        says: 'the copy to abandoned stopped before it finished. Call fork again (the same operation id resumes the copy, another id starts over), or erase the copy',
        params: { conversation: 'abandoned' },
      },
      {
        code: 'message_too_large',
        field: 'input',
        says: 'the message has 1100000 bytes, but the limit is 1048576',
        body: { input: LARGE_TEXT },
      },
      {
        code: 'turn_conflict',
        field: 'turn',
        says: 'late-4711 was accepted before with another input, context or option. Use a new turn id',
        after: {},
        body: { input: 'Another question' },
      },
      {
        code: 'key_reused',
        field: 'idempotency-key',
        says: 'this key was used before with another body. Use a new key',
        headers: KEY,
        after: { headers: KEY, body: { turn: undefined } },
        body: { turn: undefined, input: 'Another question' },
      },
    ],
    openTurns: [
      { code: 'invalid_input', field: 'limit', says: 'expected a number of at least 1', query: { limit: 0 } },
      { code: 'not_found', field: 'conversation', says: 'no conversation none', params: ABSENT },
    ],
    enqueueTurns: [{ code: 'invalid_input', field: 'turns', says: 'expected a list', body: { turns: 'x' } }],
    redrive: [
      { code: 'invalid_input', field: 'priority', says: 'expected a number of at least 1', body: { priority: 0 } },
      {
        code: 'not_found',
        field: 'turn',
        says: 'no turn none in conversation kept',
        params: { conversation: 'kept', turn: 'none' },
      },
      {
        code: 'turn_not_failed',
        field: 'turn',
        says: 'done is completed, but only a failed turn can be re-driven',
        params: DONE,
      },
      {
        code: 'gone',
        field: 'turn',
        says: 'the input of turn broken-1 was erased, so it cannot be enqueued again',
        params: { conversation: 'hollow', turn: 'broken-1' },
      },
      {
        code: 'mailbox_full',
        field: 'conversation',
        says: 'the conversation has 1000 of at most 1000 turns that are queued, running or waiting. Try again once turns have settled',
        params: { conversation: 'full', turn: 'broken-1' },
      },
      {
        code: 'message_too_large',
        field: 'context',
        says: 'exceeds 16384 bytes as JSON',
        params: { conversation: 'failed', turn: 'broken-1' },
        body: { context: LARGE_CONTEXT },
      },
      {
        code: 'operation_conflict',
        field: 'operation',
        says: 'again-1 was used before for a call with other input. Use a new operation id',
        after: { params: { conversation: 'failed', turn: 'broken-1' } },
        params: { conversation: 'failed', turn: 'broken-1' },
        body: { priority: 2 },
      },
      {
        code: 'key_reused',
        field: 'idempotency-key',
        says: 'this key was used before with another body. Use a new key',
        after: { params: { conversation: 'failed', turn: 'broken-1' }, headers: KEY, body: { operation: undefined } },
        params: { conversation: 'failed', turn: 'broken-1' },
        headers: KEY,
        body: { operation: undefined, priority: 2 },
      },
    ],
    ...Object.fromEntries(
      ['showTurn', 'steps'].map((operation) => [
        operation,
        [
          { code: 'invalid_input', field: 'turn', says: 'must match [A-Za-z0-9_.-]{1,128}', params: { turn: 'a b' } },
          {
            code: 'not_found',
            field: 'turn',
            says: 'no turn none in conversation kept',
            params: { conversation: 'kept', turn: 'none' },
          },
        ],
      ]),
    ),
    cancel: [
      { code: 'invalid_input', field: 'replacedBy', says: 'expected text', body: { replacedBy: 1 } },
      {
        code: 'not_found',
        field: 'turn',
        says: 'no turn none in conversation kept',
        params: { conversation: 'kept', turn: 'none' },
      },
      {
        code: 'conflict',
        field: 'replacedBy',
        says: 'refund has begun, and only a turn that has not begun is replaced',
        params: refund,
        body: { replacedBy: 'other' },
      },
    ],
    result: [
      { code: 'invalid_input', field: 'waitMs', says: 'expected a number of at least 0', query: { waitMs: -1 } },
      {
        code: 'not_found',
        field: 'turn',
        says: 'no turn none in conversation kept',
        params: { conversation: 'kept', turn: 'none' },
      },
      { ...NO_PLACE, params: DONE },
    ],
    answer: [
      {
        code: 'invalid_input',
        field: `answers.${call}`,
        says: 'turn refund waits for a decision on it: {approved, why?}',
        params: refund,
        body: { answers: { [call]: { content: 'yes' } } },
      },
      {
        code: 'not_found',
        field: 'turn',
        says: 'no turn none in conversation kept',
        params: { conversation: 'kept', turn: 'none' },
      },
      {
        code: 'conflict',
        field: 'answers.c6_0',
        says: 'turn done does not wait for this call. `result` returns the calls that the turn waits for',
        params: DONE,
      },
      {
        code: 'message_too_large',
        field: `answers.${call}`,
        says: 'the message has 1100014 bytes, but the limit is 1048576',
        params: refund,
        body: { answers: { [call]: { content: LARGE_TEXT } } },
      },
    ],
    waiting: [{ code: 'invalid_input', field: 'limit', says: 'expected a number of at least 1', query: { limit: 0 } }],
    failedTurns: [
      { code: 'invalid_input', field: 'limit', says: 'expected a number of at least 1', query: { limit: 0 } },
    ],
    stream: [
      { code: 'invalid_input', field: 'after', says: 'expected the id of a part', params: DONE, query: { after: 'x' } },
      {
        code: 'not_found',
        field: 'turn',
        says: 'no turn none in conversation kept',
        params: { conversation: 'kept', turn: 'none' },
      },
      { ...NO_PLACE, params: DONE },
    ],
    events: [
      { code: 'invalid_input', field: 'after', says: "expected the id of an event, or '0'", query: { after: 'x' } },
      { code: 'not_found', field: 'conversation', says: 'no conversation none', params: ABSENT },
      { ...NO_PLACE, params: DONE },
    ],
  };
}

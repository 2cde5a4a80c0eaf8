import { NO_PLACE } from './common-refusals.ts';
import type { Refusal, Refusals } from './refusal.ts';
import type { World } from './world.ts';

const KEY = { 'idempotency-key': 'key-1' };
const FREE = { operation: undefined, expectedVersion: undefined };
const kept = { conversation: 'kept' };
const done = { conversation: 'kept', turn: 'done' };

/** @param verdict name of two proposals that the rows may decide @param other fields of another decision than that of the example */
function decisionRefusals({ proposals }: World, verdict: 'approve' | 'reject', other: object): Refusal[] {
  const { proposed: proposal, decided, erased } = proposals;
  const [first, second] = [`${verdict}-1`, `${verdict}-2`] as const;
  const named = { conversation: 'proposed', proposal };
  const again = { conversation: first, proposal: proposals[first] };
  const twice = { conversation: second, proposal: proposals[second] };
  const free = { operation: undefined };
  return [
    {
      code: 'invalid_input',
      field: 'waitMs',
      says: 'expected a number of at least 0',
      params: named,
      body: { waitMs: -1 },
    },
    {
      code: 'not_found',
      field: 'conversation',
      says: 'no conversation none',
      params: { conversation: 'none', proposal },
      body: free,
    },
    {
      code: 'gone',
      field: 'conversation',
      says: 'erased was erased, so the decision has no effect',
      params: { conversation: 'erased', proposal: erased },
      body: free,
    },
    {
      code: 'proposal_stale',
      field: 'proposal',
      says: /^\w+: no proposal with this id waits for approval\./,
      params: { conversation: 'decided', proposal: decided },
      body: free,
    },
    {
      code: 'conversation_forking',
      field: 'conversation',
      says: 'copying is being created by a fork. Wait until the fork is complete',
      params: { conversation: 'copying', proposal },
      body: free,
    },
    {
      code: 'fork_abandoned',
      field: 'conversation',
      says: 'the copy to abandoned stopped before it finished. Call fork again (the same operation id resumes the copy, another id starts over), or erase the copy',
      params: { conversation: 'abandoned', proposal },
      body: free,
    },
    { ...NO_PLACE, params: named, body: free },
    {
      code: 'key_reused',
      field: 'idempotency-key',
      says: 'this key was used before with another body. Use a new key',
      params: again,
      headers: KEY,
      after: { params: again, headers: KEY, body: { operation: undefined, waitMs: 0 } },
      body: { operation: undefined, waitMs: 0, ...other },
    },
    {
      code: 'operation_conflict',
      field: 'operation',
      says: `decide-${verdict} was used before for a call with other input. Use a new operation id`,
      params: twice,
      after: { params: twice, body: { waitMs: 0 } },
      body: { waitMs: 0, ...other },
    },
  ];
}

export function versionRefusals(world: World): Refusals {
  const { proposals } = world;
  const thinking = { conversation: 'thinking', proposal: proposals.thinking };
  return {
    restore: [
      { code: 'invalid_input', field: 'newer', says: 'expected one of keep, drop', body: { newer: 'maybe' } },
      {
        code: 'not_found',
        field: 'version',
        says: 'no version 9 of conversation kept',
        params: { ...kept, version: '9' },
        body: FREE,
      },
      {
        code: 'conflict',
        field: 'expectedVersion',
        says: 'the live version is 1. Read the context again before you replace it',
        params: kept,
        body: { ...FREE, expectedVersion: 7 },
      },
      {
        code: 'conversation_busy',
        field: 'conversation',
        says: 'a turn of waiting is in flight. Wait until it has settled, or cancel it',
        params: { conversation: 'waiting' },
        body: { ...FREE, newer: 'drop' },
      },
      {
        code: 'conversation_forking',
        field: 'conversation',
        says: 'copying is being created by a fork. Wait until the fork is complete',
        params: { conversation: 'copying' },
        body: FREE,
      },
      {
        code: 'fork_abandoned',
        field: 'conversation',
        says: 'the copy to abandoned stopped before it finished. Call fork again (the same operation id resumes the copy, another id starts over), or erase the copy',
        params: { conversation: 'abandoned' },
        body: FREE,
      },
      {
        code: 'version_gone',
        field: 'version',
        says: 'version 1 of conversation lost is no longer kept',
        params: { conversation: 'lost', version: '1' },
        body: FREE,
      },
      {
        code: 'over_hard_limit',
        field: 'version',
        says: 'the restored context would have 14942 tokens (messages 14781 + system, tools and framing 161), but must stay below the hard limit of 100. Restore a smaller version',
        params: kept,
        body: { ...FREE, hardTokens: 100 },
      },
      {
        code: 'operation_conflict',
        field: 'operation',
        says: 'restored was used before for a call with other input. Use a new operation id',
        params: kept,
        after: { params: kept, body: { operation: 'restored', expectedVersion: undefined } },
        body: { operation: 'restored', expectedVersion: undefined, newer: 'drop' },
      },
      {
        code: 'key_reused',
        field: 'idempotency-key',
        says: 'this key was used before with another body. Use a new key',
        params: kept,
        headers: KEY,
        after: { params: kept, headers: KEY, body: FREE },
        body: { ...FREE, newer: 'drop' },
      },
    ],
    rollBackTurn: [
      {
        code: 'invalid_input',
        field: 'hardTokens',
        says: 'expected a number',
        params: done,
        body: { hardTokens: 'x' },
      },
      {
        code: 'not_found',
        field: 'turn',
        says: 'no turn none in conversation kept',
        params: { ...kept, turn: 'none' },
      },
      {
        code: 'conflict',
        field: 'turn',
        says: 'never was canceled before it began, so it changed nothing that could be rolled back',
        params: { conversation: 'waiting', turn: 'never' },
      },
      {
        code: 'turn_running',
        field: 'turn',
        says: 'refund is waiting. Wait until it has settled, or cancel it',
        params: { conversation: 'waiting', turn: 'refund' },
      },
      {
        code: 'conversation_busy',
        field: 'conversation',
        says: 'a turn of full is in flight. Wait until it has settled, or cancel it',
        params: { conversation: 'full', turn: 'broken-1' },
        body: FREE,
      },
      {
        code: 'version_gone',
        field: 'version',
        says: 'version 1 of conversation lost is no longer kept',
        params: { conversation: 'lost', turn: 'early.1' },
        body: FREE,
      },
      {
        code: 'over_hard_limit',
        field: 'turn',
        says: 'the restored context would have 7596 tokens (messages 7435 + system, tools and framing 161), but must stay below the hard limit of 100. Restore a smaller version',
        params: done,
        body: { ...FREE, hardTokens: 100 },
      },
      {
        code: 'operation_conflict',
        field: 'operation',
        says: 'undo-1 was used before for a call with other input. Use a new operation id',
        params: done,
        after: { params: done },
        body: { hardTokens: 1_000_000 },
      },
      {
        code: 'key_reused',
        field: 'idempotency-key',
        says: 'this key was used before with another body. Use a new key',
        params: done,
        headers: KEY,
        after: { params: done, headers: KEY, body: FREE },
        body: { ...FREE, hardTokens: 1_000_000 },
      },
    ],
    proposal: [
      {
        code: 'invalid_input',
        field: 'conversation',
        says: 'must match [A-Za-z0-9_.-]{1,128}',
        params: { conversation: 'a b' },
      },
      { code: 'not_found', field: 'conversation', says: 'no conversation none', params: { conversation: 'none' } },
    ],
    approve: [
      ...decisionRefusals(world, 'approve', { edits: { [world.range]: 'Another summary.' } }),
      {
        code: 'conversation_busy',
        field: 'conversation',
        says: 'a model is in the middle of its thinking in this conversation. Approve again after its answer',
        params: thinking,
        body: { operation: 'think' },
      },
    ],
    reject: decisionRefusals(world, 'reject', { reason: 'Another reason.' }),
  };
}

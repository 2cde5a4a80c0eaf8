import { NO_PLACE } from './common-refusals.ts';
import type { Refusal, Refusals } from './refusal.ts';
import { LARGE_TEXT } from './turn-refusals.ts';

const ABSENT = { response: 'resp_none~none' };
const KEPT = { response: 'resp_kept~done' };
const item = (text: string) => ({ type: 'message', role: 'user', content: text });
const noResponse: Refusal = {
  code: 'not_found',
  field: 'response_id',
  says: 'no response has this id',
  params: ABSENT,
};
const noConversation: Refusal = {
  code: 'not_found',
  field: 'conversation_id',
  says: 'no conversation has this id',
  params: { conversation: 'none' },
};
const limited: Refusal = {
  code: 'invalid_input',
  field: 'limit',
  says: 'expected a number of at least 1',
  query: { limit: 0 },
};

/** Rows of the routes of responses, which exist under two base paths. */
function responseRefusals(): Readonly<Record<'create' | 'retrieve' | 'cancel', readonly Refusal[]>> {
  const KEY = { 'idempotency-key': 'asked' };
  return {
    create: [
      { code: 'invalid_input', field: 'input', says: 'expected a user message at the end', body: { input: [] } },
      {
        code: 'not_found',
        field: 'model',
        says: 'no worker has an agent with the name unknown. GET /models lists the agents',
        body: { model: 'unknown' },
      },
      {
        code: 'conflict',
        field: 'input',
        says: 'the conversation waits for no answer to these calls: call_1',
        body: { conversation: 'kept', input: [output('call_1')] },
      },
      {
        code: 'agent_conflict',
        field: 'model',
        says: 'conversation proposed belongs to the agent careful. Use that agent, or another conversation',
        body: { conversation: 'proposed' },
      },
      {
        code: 'turn_conflict',
        field: 'idempotency-key',
        says: 'asked was accepted before with another input, context or option. Use a new turn id',
        after: asked(KEY),
        headers: KEY,
        body: { input: 'Another' },
      },
      {
        code: 'conversation_busy',
        field: 'previous_response_id',
        says: 'the response has not ended, and others wait behind it. Continue once it has ended',
        body: behind('full', 'refund'),
      },
      {
        code: 'mailbox_full',
        field: 'conversation',
        says: 'the conversation has 1000 of at most 1000 turns that are queued, running or waiting. Try again once turns have settled',
        body: { conversation: 'full' },
      },
      {
        code: 'message_too_large',
        field: 'input',
        says: 'the message has 1100000 bytes, but the limit is 1048576',
        body: { input: LARGE_TEXT },
      },
      {
        code: 'conversation_forking',
        field: 'conversation',
        says: 'copying is being created by a fork. Wait until the fork is complete',
        body: { conversation: 'copying' },
      },
      {
        code: 'fork_abandoned',
        field: 'conversation',
        says: 'the copy to abandoned stopped before it finished. Call fork again (the same operation id resumes the copy, another id starts over), or erase the copy',
        body: { conversation: 'abandoned' },
      },
      {
        code: 'version_gone',
        field: 'version',
        says: 'version 1 of conversation lost is no longer kept',
        body: behind('lost', 'early.1'),
      },
      NO_PLACE,
    ],
    retrieve: [
      {
        code: 'invalid_input',
        field: 'starting_after',
        says: 'expected a number of at least 0',
        params: KEPT,
        query: { starting_after: -1 },
      },
      noResponse,
      { ...NO_PLACE, params: KEPT, query: { stream: true } },
    ],
    cancel: [noResponse],
  };
}

const output = (call: string) => ({ type: 'function_call_output', call_id: call, output: 'found' });
const behind = (conversation: string, turn: string) => ({ previous_response_id: `resp_${conversation}~${turn}` });
const asked = (headers: Record<string, string>) => ({ headers, body: { background: true } });

export const openAiRefusals: Refusals = {
  compactItems: [
    { code: 'invalid_input', field: 'input', says: 'the value has none of the allowed forms', body: { input: 1 } },
    NO_PLACE,
  ],
  openAiCompactItems: [
    { code: 'invalid_input', field: 'input', says: 'the value has none of the allowed forms', body: { input: 1 } },
    NO_PLACE,
  ],
  createResponse: responseRefusals().create,
  retrieveResponse: responseRefusals().retrieve,
  cancelResponse: responseRefusals().cancel,
  openAiCreateResponse: responseRefusals().create,
  openAiRetrieveResponse: responseRefusals().retrieve,
  openAiCancelResponse: responseRefusals().cancel,
  openAiCountInputTokens: [
    { code: 'invalid_input', field: 'input', says: 'the value has none of the allowed forms', body: { input: 1 } },
    {
      code: 'not_found',
      field: 'model',
      says: 'no worker has an agent with the name unknown. GET /models lists the agents',
      body: { model: 'unknown' },
    },
  ],
  openAiDeleteResponse: [
    noResponse,
    {
      code: 'conflict',
      field: 'response_id',
      says: 'the response is not alone in its conversation, or not over: cancel the response first, and erase its conversation waiting with all responses in it',
      params: { response: 'resp_waiting~refund' },
    },
  ],
  openAiListInputItems: [{ ...limited, params: KEPT }, noResponse],
  openAiCreateConversation: [
    { code: 'invalid_input', field: 'items', says: 'expected a list', body: { items: 1 } },
    {
      code: 'message_too_large',
      field: 'items[0]',
      says: 'the message has 1100000 bytes, but the limit is 1048576',
      body: { items: [item(LARGE_TEXT)] },
    },
  ],
  openAiRetrieveConversation: [noConversation],
  openAiUpdateConversation: [
    { code: 'invalid_input', field: 'metadata', says: 'expected an object', body: { metadata: 1 } },
    { ...noConversation, body: { metadata: null } },
  ],
  openAiDeleteConversation: [noConversation],
  openAiListItems: [limited, noConversation],
  openAiCreateItems: [
    { code: 'invalid_input', field: 'items', says: 'expected at least 1 item', body: { items: [] } },
    { ...noConversation, params: { conversation: 'a b' } },
    {
      code: 'operation_conflict',
      field: 'idempotency-key',
      says: 'items.added was used before for a call with other input. Use a new operation id',
      after: { headers: { 'idempotency-key': 'added' } },
      headers: { 'idempotency-key': 'added' },
      body: { items: [item('other')] },
    },
    {
      code: 'conversation_busy',
      field: 'conversation',
      says: 'waiting has turns that are queued or running. Append once they have settled',
      params: { conversation: 'waiting' },
    },
    {
      code: 'message_too_large',
      field: 'items[0]',
      says: 'the message has 1100000 bytes, but the limit is 1048576',
      body: { items: [item(LARGE_TEXT)] },
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
  ],
  openAiRetrieveItem: [
    {
      code: 'not_found',
      field: 'item_id',
      says: 'the conversation has no item with this id',
      params: { item: 'none' },
    },
  ],
  openAiDeleteItem: [
    {
      code: 'conflict',
      field: 'item_id',
      says: 'the log of a conversation keeps its items. Erase the conversation, or restore an earlier version of it',
    },
  ],
  openAiCreateChatCompletion: [
    { code: 'invalid_input', field: 'messages', says: 'expected at least 1 item', body: { messages: [] } },
    {
      code: 'not_found',
      field: 'model',
      says: 'no worker has an agent with the name unknown. GET /models lists the agents',
      body: { model: 'unknown' },
    },
    {
      code: 'message_too_large',
      field: 'messages',
      says: 'the message has 1100000 bytes, but the limit is 1048576',
      body: { messages: [{ role: 'user', content: LARGE_TEXT }] },
    },
    NO_PLACE,
  ],
  openAiRetrieveModel: [
    {
      code: 'not_found',
      field: 'model',
      says: 'no worker has an agent with the name unknown. GET /models lists the agents',
      params: { model: 'unknown' },
    },
  ],
};

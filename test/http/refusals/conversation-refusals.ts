import { NO_PLACE } from './common-refusals.ts';
import type { Refusal, Refusals } from './refusal.ts';
import { LARGE_TEXT } from './turn-refusals.ts';

const ABSENT = { conversation: 'none' };
const LARGE = { conversation: 'large' };
const KEY = { 'idempotency-key': 'key-1' };
const unnamed: Refusal = {
  code: 'invalid_input',
  field: 'conversation',
  says: 'must match [A-Za-z0-9_.-]{1,128}',
  params: { conversation: 'a b' },
};
const absent: Refusal = { code: 'not_found', field: 'conversation', says: 'no conversation none', params: ABSENT };
const limited: Refusal = {
  code: 'invalid_input',
  field: 'limit',
  says: 'expected a number of at least 1',
  query: { limit: 0 },
};

const user = { role: 'user', content: 'hello' };
const result = { role: 'tool', content: 'found', toolCallId: 'c1' };

/** Rows of the two operations that write messages without a turn. */
const written: readonly Refusal[] = [
  { code: 'invalid_input', field: 'messages', says: 'expected at least one message', body: { messages: [] } },
  {
    code: 'agent_conflict',
    field: 'agent',
    says: 'conversation kept belongs to the agent support. Use that agent, or another conversation',
    params: { conversation: 'kept' },
    body: { agent: 'other' },
  },
  {
    code: 'conversation_busy',
    field: 'conversation',
    says: 'waiting has turns that are queued or running. Append once they have settled',
    params: { conversation: 'waiting' },
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
    code: 'orphan_result',
    field: 'messages[0].toolCallId',
    says: 'no message has an unanswered tool call with the id c1',
    params: { conversation: 'orphan' },
    body: { messages: [result], strict: true },
  },
  {
    code: 'message_too_large',
    field: 'messages[0]',
    says: 'the message has 1100000 bytes, but the limit is 1048576',
    params: { conversation: 'bulky' },
    body: { messages: [{ role: 'user', content: LARGE_TEXT }] },
  },
];

const TOO_LARGE =
  /^the context has \d+ bytes, too many for the memory of this server\. Read its messages in pages, or compact the conversation$/;

/** Rows of an operation that holds a whole context. */
function heldRefusals(changed: Pick<Refusal, 'params' | 'query' | 'body'> = {}): Refusal[] {
  const large = { ...changed, params: { ...LARGE, ...changed.params } };
  return [
    { code: 'message_too_large', field: 'conversation', says: TOO_LARGE, server: 'small', ...large },
    { ...NO_PLACE, ...large },
  ];
}

export const conversationRefusals: Refusals = {
  append: [
    ...written,
    {
      code: 'conflict',
      field: 'expectedHead',
      says: 'the last message of the log is now number 50. Read the newer messages before you append',
      params: { conversation: 'kept' },
      body: { expectedHead: 7 },
    },
    {
      code: 'operation_conflict',
      field: 'operation',
      says: 'first-2 was used before for a call with other input. Use a new operation id',
      after: {},
      body: { messages: [user] },
    },
    {
      code: 'key_reused',
      field: 'idempotency-key',
      says: 'this key was used before with another body. Use a new key',
      after: { headers: KEY, body: { operation: undefined } },
      headers: KEY,
      body: { operation: undefined, messages: [user] },
    },
  ],
  importConversation: [
    ...written,
    {
      code: 'conflict',
      field: 'conversation',
      says: 'owned exists already with 3 messages. Use another id or another tenant.',
      params: { conversation: 'owned' },
    },
  ],
  log: [limited, absent, ...heldRefusals({ query: { view: 'active' } })],
  exportConversation: [unnamed, absent, { ...NO_PLACE, params: { conversation: 'kept' } }],
  context: [
    {
      code: 'invalid_input',
      field: 'format',
      says: 'expected one of turnfold, anthropic, openai-chat, openai-responses',
      query: { format: 'yaml' },
    },
    absent,
    {
      code: 'version_gone',
      field: 'version',
      says: 'version 1 of conversation lost is no longer kept',
      params: { conversation: 'lost' },
      query: { version: 1 },
    },
    ...heldRefusals(),
  ],
  show: [
    { code: 'invalid_input', field: 'version', says: 'expected a number', params: { version: 'x' } },
    absent,
    {
      code: 'version_gone',
      field: 'version',
      says: 'version 1 of conversation lost is no longer kept',
      params: { conversation: 'lost' },
    },
    ...heldRefusals(),
  ],
  conversations: [limited],
  describe: [unnamed, absent],
  updateConversation: [{ code: 'invalid_input', field: 'title', says: 'expected text', body: { title: 1 } }, absent],
  erase: [unnamed],
  fork: [
    {
      code: 'invalid_input',
      field: 'head',
      says: 'version 1 covers the messages up to 48. Choose a head at 48…50',
      params: { conversation: 'kept' },
      body: { head: 999 },
    },
    absent,
    {
      code: 'gone',
      field: 'from',
      says: 'the conversation owned was erased during the copy',
      params: { conversation: 'owned' },
      body: { to: 'cut-off', operation: 'cut' },
    },
    {
      code: 'conflict',
      field: 'to',
      says: 'the conversation owned exists already. Choose another id, or erase it first',
      params: { conversation: 'kept' },
      body: { to: 'owned' },
    },
    {
      code: 'version_gone',
      field: 'version',
      says: 'version 1 of conversation lost is no longer kept',
      params: { conversation: 'lost' },
      body: { to: 'lost-copy', version: 1 },
    },
    {
      code: 'conversation_forking',
      field: 'to',
      says: 'copying is being created by a fork. Wait until the fork is complete',
      params: { conversation: 'kept' },
      body: { to: 'copying' },
    },
    {
      code: 'operation_conflict',
      field: 'operation',
      says: 'copy-1 was used before for a call with other input. Use a new operation id',
      params: { conversation: 'kept' },
      after: { params: { conversation: 'kept' }, body: { to: 'kept-copy' } },
      body: { to: 'kept-copy', head: 48 },
    },
    {
      code: 'key_reused',
      field: 'idempotency-key',
      says: 'this key was used before with another body. Use a new key',
      params: { conversation: 'kept' },
      headers: KEY,
      after: { params: { conversation: 'kept' }, headers: KEY, body: { to: 'kept-copy-2', operation: undefined } },
      body: { to: 'kept-copy-2', operation: undefined, head: 48 },
    },
  ],
  createConversationToken: [
    { code: 'invalid_input', field: 'expiresInMs', says: 'expected a number of at least 1', body: { expiresInMs: 0 } },
  ],
  outline: [
    limited,
    absent,
    {
      code: 'version_gone',
      field: 'version',
      says: 'version 1 of conversation lost is no longer kept',
      params: { conversation: 'lost' },
      query: { version: 1 },
    },
    ...heldRefusals(),
  ],
  workDone: [unnamed, absent],
  breakdown: [
    { code: 'invalid_input', field: 'version', says: 'expected a number of at least 0', query: { version: -1 } },
    absent,
    {
      code: 'version_gone',
      field: 'version',
      says: 'version 1 of conversation lost is no longer kept',
      params: { conversation: 'lost' },
      query: { version: 1 },
    },
    ...heldRefusals(),
  ],
  report: [
    { code: 'invalid_input', field: 'version', says: 'expected a number', params: { version: 'x' } },
    absent,
    {
      code: 'version_gone',
      field: 'version',
      says: 'version 1 of conversation lost is no longer kept',
      params: { conversation: 'lost' },
    },
    ...heldRefusals(),
  ],
  diff: [
    {
      code: 'invalid_input',
      field: 'before',
      says: 'expected a number of at least 0',
      query: { before: -1, after: 1 },
    },
    absent,
    {
      code: 'version_gone',
      field: 'after',
      says: 'version 1 of conversation lost is no longer kept',
      params: { conversation: 'lost' },
    },
    ...heldRefusals(),
  ],
  versions: [unnamed, absent],
  compact: [
    { code: 'invalid_input', field: 'dryRun', says: 'expected true or false', body: { dryRun: 1 } },
    absent,
    {
      code: 'invalid_policy',
      field: 'maxTokens',
      says: 'expected a number of at least 1',
      params: { conversation: 'kept' },
      body: { policy: { maxTokens: -1 } },
    },
    {
      code: 'conversation_forking',
      field: 'conversation',
      says: 'copying is being created by a fork. Wait until the fork is complete',
      params: { conversation: 'copying' },
      body: { dryRun: false },
    },
    {
      code: 'fork_abandoned',
      field: 'conversation',
      says: 'the copy to abandoned stopped before it finished. Call fork again (the same operation id resumes the copy, another id starts over), or erase the copy',
      params: { conversation: 'abandoned' },
      body: { dryRun: false },
    },
    ...heldRefusals(),
  ],
};

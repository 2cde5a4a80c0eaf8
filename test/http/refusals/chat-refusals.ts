import { NO_PLACE } from './common-refusals.ts';
import type { Refusal, Refusals } from './refusal.ts';
import { LARGE_TEXT } from './turn-refusals.ts';
import type { World } from './world.ts';

const UNNAMED = { conversation: 'a b' };
const say = (text: string, id = 'm9') => ({ id, role: 'user', parts: [{ type: 'text', text }] });
const unnamed: Refusal = {
  code: 'invalid_input',
  field: 'id',
  says: 'must match [A-Za-z0-9_.-]{1,128}',
  params: UNNAMED,
};

/** A message of a page to a conversation of the world. */
function sent(id: string, message: object = say('Thanks')): object {
  return { id, messages: [message] };
}

/** Rows of the routes that the stock transport of the AI SDK calls, and of those for `turnfold/chat`. */
export function chatRefusals({ chatCall }: World): Refusals {
  const decided = {
    id: 'done',
    role: 'assistant',
    parts: [
      {
        type: 'tool-refund',
        toolCallId: 'c6_0',
        state: 'approval-responded',
        approval: { id: 'c6_0.0000', approved: true },
      },
    ],
  };
  return {
    chat: [
      { code: 'invalid_input', field: 'messages', says: 'expected at least one message', body: { messages: [] } },
      {
        code: 'waiting',
        field: 'messages',
        says: 'the answer before waits for a decision. Answer its calls, and send the message again',
        body: sent('chat'),
      },
      {
        code: 'agent_conflict',
        field: 'id',
        says: 'the agent of the conversation is careful, not support',
        body: sent('proposed'),
      },
      {
        code: 'mailbox_full',
        field: 'id',
        says: 'the conversation has 1000 of at most 1000 turns that are queued, running or waiting. Send the message once turns have settled',
        body: sent('full'),
      },
      {
        code: 'message_too_large',
        field: 'messages',
        says: 'the message has 1100000 bytes, but the limit is 1048576',
        body: sent('chat-9', say(LARGE_TEXT)),
      },
      {
        code: 'not_found',
        field: 'turn',
        says: 'no turn none in conversation kept',
        body: { ...sent('kept'), after: 'none~~0' },
      },
      {
        code: 'conflict',
        field: 'answers.c6_0',
        says: 'turn done does not wait for this call. `result` returns the calls that the turn waits for',
        body: sent('kept', decided),
      },
      {
        code: 'turn_conflict',
        field: 'turn',
        says: 'm1.2 was accepted before with another input, context or option. Use a new turn id',
        body: { ...sent('edited', say('third', 'm1')), trigger: 'regenerate-message', messageId: 'm1.1' },
      },
      {
        code: 'version_gone',
        field: 'version',
        says: 'version 1 of conversation lost is no longer kept',
        body: { ...sent('lost', say('Thanks', 'early')), trigger: 'regenerate-message', messageId: 'early.1' },
      },
      {
        code: 'conversation_forking',
        field: 'conversation',
        says: 'copying is being created by a fork. Wait until the fork is complete',
        body: sent('copying'),
      },
      {
        code: 'fork_abandoned',
        field: 'conversation',
        says: 'the copy to abandoned stopped before it finished. Call fork again (the same operation id resumes the copy, another id starts over), or erase the copy',
        body: sent('abandoned'),
      },
      NO_PLACE,
    ],
    resumeChat: [
      {
        code: 'invalid_input',
        field: 'after',
        says: 'expected the id of an event of the stream, unchanged',
        query: { after: 'x' },
      },
      {
        code: 'invalid_input',
        field: 'after',
        says: 'expected a position in the stream of turn m1.1, not of m2.1',
        query: { after: 'm2.1~~0', turn: 'm1.1' },
      },
      {
        code: 'not_found',
        field: 'turn',
        says: 'no turn none in conversation kept',
        params: { conversation: 'kept' },
        query: { after: 'none~~0' },
      },
      { ...NO_PLACE, params: { conversation: 'chat' } },
    ],
    stopChat: [
      {
        code: 'invalid_input',
        field: 'messageId',
        says: 'expected the id of the message to stop, because a stop without a name could end a later message',
        body: { messageId: undefined },
      },
      {
        code: 'not_found',
        field: 'messageId',
        says: 'the chat has no turn for message m2. If the message comes within a minute, its turn is canceled',
        params: { conversation: 'kept' },
      },
      {
        code: 'conflict',
        field: 'messageId',
        says: 'this id matches two turns: m1.1 by its answer, and m1.1.1 by its user message. Cancel one of them by its turn id',
        params: { conversation: 'double' },
        body: { messageId: 'm1.1' },
      },
    ],
    showChat: [unnamed, { ...NO_PLACE, params: { conversation: 'kept' } }],
    listChatMessages: [
      { code: 'invalid_input', field: 'limit', says: 'expected a number of at least 1', query: { limit: 0 } },
    ],
    acceptChatMessage: [
      {
        code: 'invalid_input',
        field: 'message',
        says: 'expected an object, and got nothing',
        body: { message: undefined },
      },
      {
        code: 'waiting',
        field: 'message',
        says: 'the answer before waits for a decision. Answer its calls, and send the message again',
        params: { conversation: 'chat' },
        body: { message: say('Thanks') },
      },
      {
        code: 'not_found',
        field: 'replaces',
        says: 'no message none waits',
        params: { conversation: 'chat' },
        body: { message: say('Thanks', 'm8'), replaces: 'none' },
      },
      {
        code: 'conflict',
        field: 'replaces',
        says: 'a worker has begun the turn of message m1',
        params: { conversation: 'chat' },
        body: { message: say('Thanks', 'm8'), replaces: 'm1' },
      },
      {
        code: 'agent_conflict',
        field: 'id',
        says: 'the agent of the conversation is careful, not support',
        params: { conversation: 'proposed' },
      },
      {
        code: 'mailbox_full',
        field: 'id',
        says: 'the conversation has 1000 of at most 1000 turns that are queued, running or waiting. Send the message once turns have settled',
        params: { conversation: 'full' },
      },
      {
        code: 'message_too_large',
        field: 'message',
        says: 'the message has 1100000 bytes, but the limit is 1048576',
        body: { message: say(LARGE_TEXT) },
      },
      {
        code: 'turn_conflict',
        field: 'turn',
        says: 'm2.1 was accepted before with another input, context or option. Use a new turn id',
        after: {},
        body: { message: say('Thanks', 'm2') },
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
    answerChatCalls: [
      { code: 'invalid_input', field: 'answers', says: 'expected at least one answer', body: { answers: {} } },
      {
        code: 'not_found',
        field: 'answers.c9_0',
        says: 'the chat has no such call. Load the messages again',
        body: { answers: { c9_0: { approved: true } } },
      },
      {
        code: 'conflict',
        field: `answers.${chatCall}`,
        says: 'the hash does not belong to the call that turn m1.1 now has under this id. Read the call again with `result`, and answer with its hash',
        params: { conversation: 'chat' },
        body: { answers: { [`${chatCall}.0000`]: { approved: true } } },
      },
      {
        code: 'message_too_large',
        field: `answers.${chatCall}`,
        says: 'the message has 1100029 bytes, but the limit is 1048576',
        params: { conversation: 'chat' },
        body: { answers: { [chatCall]: { errorText: LARGE_TEXT } } },
      },
    ],
    followChat: [
      { code: 'invalid_input', field: 'after', says: "expected the id of an event, or '0'", query: { after: 'x' } },
      NO_PLACE,
    ],
  };
}

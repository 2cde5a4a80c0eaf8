import { vi } from 'vitest';
import { operations } from '../../../src/api/contract/client.ts';
import { listParameters, type Operation } from '../../../src/api/contract/operation.ts';
import { compact, talk } from '../../client/fixture.ts';
import type { HttpFixture } from '../fixture.ts';
import type { ExampleRecorder } from './recorder.ts';

const agent = 'support';
const WAIT = { waitMs: 30_000 };
const settled = { conversation: 'c-17', turn: 'late-4711' };

/** Sends a request to every operation, in an order in which each succeeds. */
export async function runScenario(http: HttpFixture, recorder: ExampleRecorder): Promise<void> {
  for (const part of [
    runTurns,
    runMessages,
    runProposals,
    runServer,
    runChat,
    runAgUi,
    runResponses,
    runOpenAi,
    runVersions,
  ]) {
    await part(recorder, http);
  }
}

async function runTurns(recorder: ExampleRecorder, { client }: HttpFixture): Promise<void> {
  const params = settled;
  const { conversation } = settled;
  await recorder.send('enqueueTurn', {
    params: { conversation },
    body: { agent, input: 'Where is order 4711?', turn: 'late-4711' },
  });
  await recorder.send('result', { params, query: WAIT });
  await recorder.send('showTurn', { params });
  await recorder.send('steps', { params });
  await recorder.send('stream', { params });
  await recorder.send('events', { params: { conversation }, query: { after: '0', waitMs: 0 } });
  await recorder.send('describe', { params: { conversation } });
  await recorder.send('updateConversation', {
    params: { conversation },
    body: { title: 'Order 4711', metadata: { shop: 'north' } },
  });
  await recorder.send('createConversationToken', {
    params: { conversation },
    body: { scopes: ['read'], expiresInMs: 900_000 },
  });
  const refund = { conversation, turn: 'refund-4711' };
  await recorder.send('enqueueTurns', {
    body: { turns: [{ conversation, agent, input: 'Refund order 4711.', turn: refund.turn }] },
  });
  const isWaiting = async () => (await client.result(conversation, refund.turn)).state === 'waiting';
  await vi.waitUntil(isWaiting, { timeout: 30_000 });
  await recorder.send('openTurns', { params: { conversation }, query: { limit: 10 } });
  const { waiting } = await recorder.send('showTurn', { params: refund });
  await recorder.send('waiting', { query: { for: 'approval' } });
  const call = (waiting as unknown as { calls: { id: string }[] }).calls[0]?.id ?? '';
  await recorder.send('answer', { params: refund, body: { answers: { [call]: { approved: true, by: 'ann' } } } });
  await recorder.send('result', { params: refund, query: WAIT });
  const later = { conversation, turn: 'later' };
  await recorder.send('enqueueTurn', {
    params: { conversation },
    body: { agent, input: 'Thanks', turn: 'later', delayMs: 600_000 },
  });
  await recorder.send('cancel', { params: later });
  const failing = { conversation: 'c-19', turn: 'broken-1' };
  await recorder.send('enqueueTurn', {
    params: failing,
    body: { agent, input: 'My vase is broken.', turn: 'broken-1' },
  });
  await recorder.send('result', { params: failing, query: WAIT });
  await recorder.send('failedTurns', { query: { limit: 10 } });
  const { turn } = await recorder.send('redrive', { params: failing, body: { operation: 'again-1' } });
  await client.result(failing.conversation, String(turn), WAIT);
}

async function runMessages(recorder: ExampleRecorder): Promise<void> {
  const params = { conversation: 'c-18' };
  const messages = [
    { role: 'user', content: 'Where is order 4712?' },
    { role: 'assistant', content: 'It left the warehouse on Monday.' },
  ];
  await recorder.send('append', { params, body: { agent, messages, operation: 'first-2' } });
  await recorder.send('log', { params, query: { limit: 10 } });
  await recorder.send('context', { params, query: { format: 'openai-chat' } });
  await recorder.send('exportConversation', { params });
  await recorder.send('importConversation', { params: { conversation: 'c-21' }, body: { agent, messages } });
  await recorder.send('fork', { params, body: { to: 'c-18-copy', operation: 'copy-1' } });
  await recorder.send('erase', { params: { conversation: 'c-18-copy' } });
  await recorder.send('conversations', { query: { limit: 2, agent } });
}

/** Sends every read that no other part has sent, if it needs no more than a version of a compacted conversation. */
async function sendReads(recorder: ExampleRecorder, given: Readonly<Record<string, string>>): Promise<void> {
  const missing = new Set(recorder.missing);
  for (const [name, operation] of Object.entries<Operation>(operations)) {
    const { method, path, exampleQuery: query } = operation;
    const needed = listParameters(path);
    if (!missing.has(name) || method !== 'get' || !needed.every((parameter) => parameter in given)) continue;
    const params = Object.fromEntries(needed.map((parameter) => [parameter, given[parameter] ?? '']));
    await recorder.send(name, { ...(needed.length > 0 && { params }), ...(query && { query }) });
  }
}

async function runVersions(recorder: ExampleRecorder, http: HttpFixture): Promise<void> {
  const params = { conversation: 'c-20' };
  await http.client.append({ ...params, agent, messages: talk(16) });
  await compact(http, params.conversation);
  await recorder.send('compact', { params, body: { dryRun: true } });
  await sendReads(recorder, { ...params, version: '1' });
  await recorder.send('restore', {
    params: { ...params, version: '0' },
    body: { newer: 'keep', operation: 'back-1', expectedVersion: 1 },
  });
  await recorder.send('rollBackTurn', { params: settled, body: { operation: 'undo-1' } });
}

async function runProposals(recorder: ExampleRecorder, http: HttpFixture): Promise<void> {
  for (const decision of ['approve', 'reject']) {
    const conversation = `to-${decision}`;
    await http.client.append({ conversation, agent: 'careful', messages: talk(8) });
    const proposed = await vi.waitUntil(() => http.client.proposal(conversation), { timeout: 60_000 });
    const proposal = proposed?.proposal ?? '';
    await recorder.send('proposal', { params: { conversation } });
    const reason = decision === 'reject' && { reason: 'The summary lost the order number.' };
    await recorder.send(decision, {
      params: { conversation, proposal },
      body: { operation: `decide-${decision}`, ...WAIT, ...reason },
    });
  }
}

async function runServer(recorder: ExampleRecorder): Promise<void> {
  const issued = await recorder.send('createAccessKey', { body: { name: 'shop', scopes: ['read', 'enqueue'] } });
  const { id: key } = issued['key'] as unknown as { readonly id: string };
  await recorder.send('listAccessKeys');
  await recorder.send('rotateAccessKey', { params: { key }, body: { graceMs: 60_000 } });
  await recorder.send('revokeAccessKey', { params: { key } });
  await recorder.send('rotateTokenSecret');
  const added = await recorder.send('addWebhook', {
    body: { url: 'https://shop.example/turnfold', events: ['turn.settled'] },
  });
  const { id: webhook } = added['webhook'] as unknown as { readonly id: string };
  await recorder.send('listWebhooks');
  await recorder.send('retryWebhook', { params: { webhook } });
  await recorder.send('testWebhook', { params: { webhook } });
  await recorder.send('removeWebhook', { params: { webhook } });
}

const text = (written: string) => [{ type: 'text', text: written }];

async function runChat(recorder: ExampleRecorder, { client }: HttpFixture): Promise<void> {
  const params = { conversation: 'chat-1' };
  const headers = { 'x-ai-sdk-version': '7' };
  const first = { id: 'm1', role: 'user', parts: text('Where is order 4711?') };
  await recorder.send('chat', { headers, body: { id: 'chat-1', messages: [first] } });
  await recorder.send('showChat', { params });
  await recorder.send('listChatMessages', { params, query: { limit: 10 } });
  const refund = { message: { id: 'm2', role: 'user', parts: text('Refund order 4711.') } };
  const { turn } = await recorder.send('acceptChatMessage', { params, body: refund });
  const view = await vi.waitUntil(
    async () => {
      const read = await client.result('chat-1', String(turn));
      return read.waiting && read;
    },
    { timeout: 30_000 },
  );
  await recorder.send('resumeChat', { params, headers });
  const { id = '' } = (typeof view === 'object' && view.waiting?.calls[0]) || {};
  await recorder.send('answerChatCalls', { params, body: { answers: { [id]: { approved: true, by: 'ann' } } } });
  await client.result('chat-1', String(turn), WAIT);
  await recorder.send('stopChat', { params, body: { messageId: 'm2' } });
  await recorder.send('followChat', { params });
}

async function runAgUi(recorder: ExampleRecorder): Promise<void> {
  const message = { id: 'm1', role: 'user', content: 'Where is order 4711?' };
  const run = {
    threadId: 'thread-1',
    runId: 'r1',
    state: {},
    messages: [message],
    tools: [],
    context: [],
    forwardedProps: {},
  };
  await recorder.send('runAgent', { body: run });
  await recorder.send('runNamedAgent', { params: { agent }, body: { ...run, threadId: 'thread-2', runId: 'r2' } });
  await recorder.send('connectThread', { body: { threadId: 'thread-1', runId: 'r3' } });
  await recorder.send('stopRun', { body: { threadId: 'thread-1', runId: 'r1' } });
}

async function runResponses(recorder: ExampleRecorder): Promise<void> {
  const { id } = await recorder.send('createResponse', { body: { model: agent, input: 'Where is order 4711?' } });
  const params = { response: String(id) };
  await recorder.send('retrieveResponse', { params });
  await recorder.send('cancelResponse', { params });
  const input = [{ type: 'message', role: 'user', content: 'Where is my parcel?' }];
  await recorder.send('compactItems', { body: { model: 'structural', input } });
  await recorder.send('openAiCompactItems', { body: { model: 'structural', input } });
}

async function runOpenAi(recorder: ExampleRecorder): Promise<void> {
  await recorder.send('openAiListModels');
  await recorder.send('openAiRetrieveModel', { params: { model: agent } });
  await recorder.send('openAiCountInputTokens', { body: { model: agent, input: 'Where is order 4711?' } });
  const { id } = await recorder.send('openAiCreateResponse', { body: { model: agent, input: 'Where is order 4711?' } });
  const params = { response: String(id) };
  await recorder.send('openAiRetrieveResponse', { params });
  await recorder.send('openAiListInputItems', { params, query: { limit: 10 } });
  await recorder.send('openAiCancelResponse', { params });
  await recorder.send('openAiDeleteResponse', { params });
  const item = { type: 'message', role: 'user', content: 'Thanks' };
  const created = await recorder.send('openAiCreateConversation', {
    body: { metadata: { shop: 'north' }, items: [item] },
  });
  const named = { conversation: String(created['id']) };
  await recorder.send('openAiRetrieveConversation', { params: named });
  await recorder.send('openAiUpdateConversation', { params: named, body: { metadata: { shop: 'south' } } });
  await recorder.send('openAiCreateItems', { params: named, body: { items: [item] } });
  const { data } = await recorder.send('openAiListItems', { params: named });
  const itemId = (data as unknown as { id: string }[])[0]?.id ?? '';
  await recorder.send('openAiRetrieveItem', { params: { ...named, item: itemId } });
  await recorder.send('openAiDeleteItem', { params: { ...named, item: itemId } });
  await recorder.send('openAiCreateChatCompletion', {
    body: { model: agent, messages: [{ role: 'user', content: 'Where is order 4711?' }] },
  });
  await recorder.send('openAiDeleteConversation', { params: named });
}

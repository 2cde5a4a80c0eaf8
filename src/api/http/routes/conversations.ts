import { z } from 'zod';
import { CONVERSATION_STATES } from '../../../domain/conversation.ts';
import { idSchema } from '../../../domain/ids.ts';
import type { LogEntry } from '../../../domain/message.ts';
import { readHistoryInSlices } from '../../../wire/histories/history.ts';
import { eventLoopShare } from '../../../wire/tokens/event-loop-share.ts';
import { appendSchema } from '../../client/append-input.ts';
import { forkSchema as forkInputSchema } from '../../client/forks.ts';
import { importConversation } from '../../client/import.ts';
import { enqueueSchema } from '../../client/input.ts';
import {
  conversationPageSchema,
  conversationSchema,
  erasedSchema,
  forkSchema,
  usageSchema,
} from '../answers/conversations.ts';
import { exportSchema, importedSchema } from '../answers/messages.ts';
import { readOperation } from '../idempotency-key.ts';
import { answerJson } from '../json-answer.ts';
import { type Call, defineRoute, locate } from '../route.ts';
import { hideTenant, pageFields } from './fields.ts';
import { givenMessages } from './messages.ts';

const CONVERSATION = '/v1/conversations/{conversation}';

const listConversations = defineRoute({
  operation: 'listConversations',
  method: 'get',
  path: '/v1/conversations',
  scope: 'read',
  summary: 'List conversations with their states, in pages. The order is stable, but not chronological.',
  query: z.strictObject({
    ...pageFields,
    agent: idSchema.optional().describe('Only conversations of this agent.'),
    idContains: z.string().min(1).max(128).optional().describe('Only conversations whose id contains this text.'),
    state: z.enum(CONVERSATION_STATES).optional().describe('Only conversations in this state.'),
  }),
  result: conversationPageSchema,
  handle: async ({ client, caller: { tenant }, query }) => {
    const { conversations, ...rest } = await client.conversations({ ...query, tenant });
    return { body: { ...rest, conversations: conversations.map(hideTenant) } };
  },
});

const showUsage = defineRoute({
  operation: 'showUsage',
  method: 'get',
  path: '/v1/usage',
  scope: 'read',
  summary: 'Show what the model calls of the tenant used: tokens, cached ones among them, and their price.',
  result: usageSchema,
  handle: async ({ client, caller: { tenant } }) => ({ body: { ...(await client.usage({ tenant })) } }),
});

const showConversation = defineRoute({
  operation: 'showConversation',
  method: 'get',
  path: CONVERSATION,
  scope: 'read',
  summary: 'Show agent, length, size, open calls and the compaction in progress, without messages.',
  result: conversationSchema,
  handle: async ({ client, name }) => ({
    body: { conversation: name.conversation, ...(await client.describe(name)) },
  }),
});

const eraseConversation = defineRoute({
  operation: 'eraseConversation',
  method: 'delete',
  path: CONVERSATION,
  scope: 'admin',
  summary: 'Erase a conversation for good: log, versions, turns and summaries.',
  result: erasedSchema,
  handle: async ({ client, name }) => ({ body: await client.erase(name) }),
});

const forkConversation = defineRoute({
  operation: 'forkConversation',
  method: 'post',
  path: `${CONVERSATION}/fork`,
  scope: 'admin',
  summary: 'Copy a conversation into a new one, whole or up to a version or message.',
  hasKey: true,
  body: forkInputSchema.extend({ to: idSchema.describe('Id of the new conversation.') }),
  status: 201,
  result: forkSchema,
  handle: async (call) => {
    const { to, operation: given, ...input } = call.body;
    const operation = readOperation(call, given);
    const target = { tenant: call.caller.tenant, conversation: to };
    const { head } = await call.client.fork(call.name, target, { ...input, operation });
    return { body: { conversation: to, head }, headers: { location: locate(call, to) } };
  },
});

const exportConversation = defineRoute({
  operation: 'exportConversation',
  method: 'get',
  path: `${CONVERSATION}/export`,
  scope: 'read',
  summary: 'Return the whole log as one JSON object, messages that left the context included.',
  result: exportSchema,
  handle: async (call) => {
    const { request, cut, readers, streams: limits } = call;
    // Read before the answer begins, so that a missing conversation is a problem.
    const first = await readBatch(call, 0);
    return answerJson({ request, cut, readers, limits, pieces: writeExport(call, first) });
  },
});

/** Bytes and entries that an export reads at once, and holds while a client reads slowly. */
const EXPORT_BATCH = { maxBytes: 1_000_000, limit: 500 };

async function readBatch({ client, name }: Call, after: number): Promise<LogEntry[]> {
  return await client.log(name, { after, ...EXPORT_BATCH });
}

/** Writes the export batch by batch, because a log may be larger than the memory of the server. */
async function* writeExport(call: Call, first: LogEntry[]): AsyncGenerator<string> {
  yield `{"id":${JSON.stringify(call.name.conversation)},"messages":[`;
  let after = 0;
  for (let batch = first; batch.length > 0; batch = await readBatch(call, after)) {
    for (const { message } of batch) {
      yield `${after === 0 ? '' : ','}${JSON.stringify(message)}`;
      after += 1;
    }
  }
  yield ']}';
}

const importRoute = defineRoute({
  operation: 'importConversation',
  method: 'post',
  path: `${CONVERSATION}/import`,
  scope: 'enqueue',
  summary: 'Create a conversation from recorded messages. A repeated import changes nothing.',
  body: z.strictObject({
    agent: enqueueSchema.shape.agent,
    id: z.string().optional().describe('Ignored, so that an export can be sent as it is.'),
    messages: givenMessages,
    strict: appendSchema.shape.strict.describe('True: a history that would have to be repaired is refused.'),
  }),
  status: 201,
  result: importedSchema,
  handle: async (call) => {
    const { agent, messages: given, strict } = call.body;
    const { messages, notes } = await eventLoopShare.run(
      readHistoryInSlices({ messages: given }, { isStrict: strict }),
    );
    await importConversation(call.client, { ...call.name, agent, messages });
    const { conversation } = call.name;
    const body = { conversation, messages: messages.length, ...(notes.length > 0 && { notes }) };
    return { body, headers: { location: locate(call, conversation) } };
  },
});

export const conversationRoutes = [
  listConversations,
  showUsage,
  showConversation,
  eraseConversation,
  forkConversation,
  exportConversation,
  importRoute,
];

import { z } from 'zod';
import { idSchema } from '../../../domain/ids.ts';
import { unboundedList } from '../../contract/operation.ts';
import type { ProtocolRoute } from '../app-options.ts';
import { compactRoute } from '../compact/compact-app.ts';
import { EVENT_STREAM } from '../event-stream.ts';
import { conversationItemSchema } from '../responses/event-schema.ts';
import { inputTokensSchema } from '../responses/request-schema.ts';
import { repeatHeaders, responseRoutes } from '../responses/routes.ts';
import { chatHeaders, chatSchema } from './chat-request.ts';
import { chatEventSchema, completionSchema } from './chat-schema.ts';
import { pageSchema } from './conversation-items.ts';
import { conversationObjectSchema, createConversationSchema, createItemsSchema } from './conversations.ts';

/** Path that a client of OpenAI takes as its base URL. */
export const OPENAI_BASE = '/openai/v1';

const CONVERSATION = `${OPENAI_BASE}/conversations/{conversation}` as const;
const ITEM = `${CONVERSATION}/items/{item}` as const;
const RESPONSE = `${OPENAI_BASE}/responses/{response}` as const;

const modelSchema = z
  .looseObject({ id: idSchema, object: z.literal('model'), created: z.number(), owned_by: z.string() })
  .meta({ id: 'ModelObject', description: 'An agent, in the form of a model of OpenAI.' });

const listSchema = z
  .looseObject({
    object: z.literal('list'),
    data: unboundedList(conversationItemSchema),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
  })
  .meta({ id: 'ItemList' });

const deletedSchema = z
  .looseObject({ id: z.string(), object: z.enum(['response', 'conversation.deleted']), deleted: z.literal(true) })
  .meta({ id: 'DeletedObject' });

const json = (schema: z.ZodType): ProtocolRoute['results'] => ({ 'application/json': schema });

const conversationRoutes: readonly ProtocolRoute[] = [
  {
    operation: 'openAiCreateConversation',
    method: 'post',
    path: `${OPENAI_BASE}/conversations`,
    scopes: ['read', 'enqueue'],
    summary: 'Create a conversation, empty or with items.',
    body: createConversationSchema,
    errors: ['message_too_large'],
    results: json(conversationObjectSchema),
  },
  {
    operation: 'openAiRetrieveConversation',
    method: 'get',
    path: CONVERSATION,
    scopes: ['read'],
    summary: 'Show a conversation without its items.',
    errors: ['not_found'],
    results: json(conversationObjectSchema),
  },
  {
    operation: 'openAiUpdateConversation',
    method: 'post',
    path: CONVERSATION,
    scopes: ['read', 'enqueue'],
    summary: 'Change the metadata of a conversation.',
    body: createConversationSchema.pick({ metadata: true }).meta({ id: 'UpdateConversationObject' }),
    errors: ['not_found'],
    results: json(conversationObjectSchema),
  },
  {
    operation: 'openAiDeleteConversation',
    method: 'delete',
    path: CONVERSATION,
    scopes: ['admin'],
    summary: 'Erase a conversation with its responses.',
    errors: ['not_found'],
    results: json(deletedSchema),
  },
  {
    operation: 'openAiListItems',
    method: 'get',
    path: `${CONVERSATION}/items`,
    scopes: ['read'],
    summary: 'List the items of a conversation in pages.',
    query: pageSchema,
    errors: ['not_found'],
    results: json(listSchema),
  },
  {
    operation: 'openAiCreateItems',
    method: 'post',
    path: `${CONVERSATION}/items`,
    scopes: ['read', 'enqueue'],
    summary: 'Append items to a conversation without a response.',
    headers: repeatHeaders,
    body: createItemsSchema,
    errors: [
      'not_found',
      'operation_conflict',
      'conversation_busy',
      'message_too_large',
      'conversation_forking',
      'fork_abandoned',
    ],
    results: json(listSchema),
  },
  {
    operation: 'openAiRetrieveItem',
    method: 'get',
    path: ITEM,
    scopes: ['read'],
    summary: 'Show an item of a conversation.',
    errors: ['not_found'],
    results: json(conversationItemSchema),
  },
  {
    operation: 'openAiDeleteItem',
    method: 'delete',
    path: ITEM,
    scopes: ['admin'],
    summary: 'Refused, because the log of a conversation keeps its items.',
    errors: ['conflict'],
    results: json(conversationObjectSchema),
  },
];

export const openAiRoutes: readonly ProtocolRoute[] = [
  {
    operation: 'openAiCountInputTokens',
    method: 'post',
    path: `${OPENAI_BASE}/responses/input_tokens`,
    scopes: ['read'],
    summary: "Estimate the tokens of a request, without the agent's own prompt.",
    body: inputTokensSchema,
    errors: ['not_found'],
    results: json(
      z
        .looseObject({ object: z.literal('response.input_tokens'), input_tokens: z.number() })
        .meta({ id: 'InputTokens' }),
    ),
  },
  compactRoute('openAiCompactItems', OPENAI_BASE),
  ...responseRoutes(OPENAI_BASE, 'openAi'),
  {
    operation: 'openAiDeleteResponse',
    method: 'delete',
    path: RESPONSE,
    scopes: ['admin'],
    summary: 'Erase a response that is alone in its conversation.',
    errors: ['not_found', 'conflict'],
    results: json(deletedSchema),
  },
  {
    operation: 'openAiListInputItems',
    method: 'get',
    path: `${RESPONSE}/input_items`,
    scopes: ['read'],
    summary: 'List the messages that began a response.',
    query: pageSchema,
    errors: ['not_found'],
    results: json(listSchema),
  },
  ...conversationRoutes,
  {
    operation: 'openAiCreateChatCompletion',
    method: 'post',
    path: `${OPENAI_BASE}/chat/completions`,
    scopes: ['read', 'enqueue', 'answer'],
    summary: 'Answer a chat that the caller keeps, whole or as a stream.',
    headers: chatHeaders,
    body: chatSchema,
    errors: ['not_found', 'message_too_large'],
    results: { 'application/json': completionSchema, [EVENT_STREAM]: chatEventSchema },
  },
  {
    operation: 'openAiListModels',
    method: 'get',
    path: `${OPENAI_BASE}/models`,
    scopes: ['read'],
    summary: 'List the agents of running workers, in the form of models.',
    results: json(
      z.looseObject({ object: z.literal('list'), data: unboundedList(modelSchema) }).meta({ id: 'ModelList' }),
    ),
  },
  {
    operation: 'openAiRetrieveModel',
    method: 'get',
    path: `${OPENAI_BASE}/models/{model}`,
    scopes: ['read'],
    summary: 'Show an agent in the form of a model.',
    errors: ['not_found'],
    results: json(modelSchema),
  },
];

import { z } from 'zod';
import { idSchema } from '../../../domain/ids.ts';
import { parseInput } from '../../../domain/parse.ts';
import { TURN_STATES, WAIT_KINDS } from '../../../domain/turn.ts';
import { eventIdSchema } from '../../client/events.ts';
import type { ProtocolRoute } from '../app-options.ts';
import { EVENT_STREAM } from '../event-stream.ts';
import { acceptedSchema, messageRequestSchema } from './accept-message.ts';
import { answersRequestSchema } from './chat-answers.ts';
import { chatRequestSchema } from './chat-request.ts';
import { chunkSchema } from './chunk-schema.ts';
import { SDK_VERSIONS } from './chunks.ts';
import { historyQuery } from './history-page.ts';
import { stopRequestSchema } from './stop-chat.ts';

const VERSION_HEADER = 'x-ai-sdk-version';
const CHAT = '/v1/chat/{conversation}';

const headers = z.object({
  [VERSION_HEADER]: z.coerce
    .number()
    .pipe(z.literal(SDK_VERSIONS))
    .optional()
    .describe('Major version of the AI SDK of the page.'),
});

export const resumeQuery = z.looseObject({
  after: z
    .string()
    .max(4_000)
    .optional()
    .describe('Id of the last event that the page has. Absent: the answer from its start.'),
  turn: idSchema
    .optional()
    .describe('Turn to stream, whatever other turns are open. Absent: the first open turn, or the turn of `after`.'),
});

export const liveQuery = z.looseObject({
  after: eventIdSchema
    .optional()
    .describe('`after` of the messages, or id of the last event. Absent: events from now on.'),
});

const messageSchema = z
  .looseObject({
    id: z.string(),
    role: z.enum(['user', 'assistant']),
    parts: z.array(z.looseObject({ type: z.string() })),
  })
  .meta({ id: 'UiMessage', description: 'A message as `useChat` of the AI SDK takes it.' });

const openTurnSchema = z
  .looseObject({
    turn: idSchema,
    messageId: idSchema.describe("Id of the user's message."),
    state: z.enum(['scheduled', 'queued', 'running', 'waiting']),
    position: z.number().describe('Number of turns in front.'),
    text: z.string().optional().describe("Text of the user's message. Absent once a worker has begun the turn."),
    files: z
      .array(z.looseObject({ mediaType: z.string(), filename: z.string().optional() }))
      .optional()
      .describe('Files of the message, without their contents.'),
    waiting: z
      .looseObject({ for: z.enum(WAIT_KINDS), until: z.number(), calls: z.array(z.looseObject({})) })
      .optional(),
  })
  .meta({ id: 'OpenChatTurn', description: 'A turn of a chat that has not ended.' });

const pageSchema = z
  .looseObject({
    id: idSchema,
    messages: z.array(messageSchema).describe('Oldest first, without the answers of open turns.'),
    turns: z.array(openTurnSchema).describe('Open turns, oldest first.'),
    before: z.string().optional().describe('Cursor of the page before. Absent on the first page.'),
    after: z.string().describe('Position for live news.'),
  })
  .meta({ id: 'ChatMessages' });

const newsSchema = z
  .looseObject({ type: z.enum(['turns', 'event', 'lost']) })
  .meta({ id: 'ChatNews', description: 'News of a chat, as in docs/reference/chat.md.' });

export const aiSdkRoutes: readonly ProtocolRoute[] = [
  {
    operation: 'chat',
    method: 'post',
    path: '/v1/chat',
    scopes: ['read', 'enqueue', 'answer'],
    summary: 'Send a message of a chat page, answer its calls, edit or regenerate, and stream the answer.',
    headers,
    body: chatRequestSchema,
    errors: [
      'waiting',
      'not_found',
      'conflict',
      'agent_conflict',
      'turn_conflict',
      'mailbox_full',
      'message_too_large',
      'version_gone',
      'conversation_forking',
      'fork_abandoned',
    ],
    results: { [EVENT_STREAM]: chunkSchema },
  },
  {
    operation: 'resumeChat',
    method: 'get',
    path: `${CHAT}/stream`,
    scopes: ['read'],
    summary: 'Stream the open answer of a chat from its start, or from an event on.',
    headers,
    query: resumeQuery,
    errors: ['invalid_input', 'not_found'],
    results: { [EVENT_STREAM]: chunkSchema },
    empty: 'No answer is open, or the named turn ended a while ago.',
  },
  {
    operation: 'stopChat',
    method: 'post',
    path: `${CHAT}/stop`,
    scopes: ['enqueue'],
    summary: 'Cancel the turn of a message. A turn that has ended stays as it is, and the answer has its state.',
    body: stopRequestSchema,
    errors: ['not_found', 'conflict'],
    results: { 'application/json': z.looseObject({ turn: idSchema, state: z.enum(TURN_STATES) }) },
  },
  {
    operation: 'showChat',
    method: 'get',
    path: CHAT,
    scopes: ['read'],
    summary: 'List the messages of a chat for a page that opens it.',
    errors: ['invalid_input', 'too_many_readers'],
    results: { 'application/json': z.looseObject({ id: idSchema, messages: z.array(messageSchema) }) },
  },
  {
    operation: 'listChatMessages',
    method: 'get',
    path: `${CHAT}/messages`,
    scopes: ['read'],
    summary: 'List the newest messages of a chat in a page, with its open turns and the position for live news.',
    query: historyQuery,
    results: { 'application/json': pageSchema },
  },
  {
    operation: 'acceptChatMessage',
    method: 'post',
    path: `${CHAT}/messages`,
    scopes: ['read', 'enqueue', 'answer'],
    summary: 'Accept a message of a chat without a stream. A repeated request changes nothing.',
    body: messageRequestSchema,
    status: 202,
    errors: [
      'waiting',
      'not_found',
      'conflict',
      'agent_conflict',
      'turn_conflict',
      'mailbox_full',
      'message_too_large',
      'conversation_forking',
      'fork_abandoned',
    ],
    results: { 'application/json': acceptedSchema },
  },
  {
    operation: 'answerChatCalls',
    method: 'post',
    path: `${CHAT}/answers`,
    scopes: ['read', 'answer'],
    summary: 'Answer calls of a chat, whatever its messages and streams do. A repeated answer changes nothing.',
    body: answersRequestSchema,
    errors: ['not_found', 'conflict', 'message_too_large'],
    results: {
      'application/json': z.looseObject({ turn: idSchema, status: z.enum(['answered', 'still_waiting']) }),
    },
  },
  {
    operation: 'followChat',
    method: 'get',
    path: `${CHAT}/live`,
    scopes: ['read'],
    summary: 'Follow a chat: its open turns whenever they change, and its durable events.',
    query: liveQuery,
    results: { [EVENT_STREAM]: newsSchema },
  },
];

export function readVersionHeader(value: string | undefined): z.output<typeof headers>[typeof VERSION_HEADER] {
  return parseInput(headers, { [VERSION_HEADER]: value })[VERSION_HEADER];
}

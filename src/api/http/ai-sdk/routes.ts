import { z } from 'zod';
import { idSchema } from '../../../domain/ids.ts';
import { parseInput } from '../../../domain/parse.ts';
import { TURN_STATES } from '../../../domain/turn.ts';
import type { ProtocolRoute } from '../app-options.ts';
import { EVENT_STREAM } from '../event-stream.ts';
import { chatRequestSchema } from './chat-request.ts';
import { SDK_VERSIONS } from './chunks.ts';
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

const chunkSchema = z
  .looseObject({ type: z.string() })
  .meta({ id: 'UiMessageChunk', description: 'A chunk of the UI message stream, version 1, of the AI SDK.' });

const messageSchema = z
  .looseObject({
    id: z.string(),
    role: z.enum(['user', 'assistant']),
    parts: z.array(z.looseObject({ type: z.string() })),
  })
  .meta({ id: 'UiMessage', description: 'A message as `useChat` of the AI SDK takes it.' });

export const aiSdkRoutes: readonly ProtocolRoute[] = [
  {
    operation: 'chat',
    method: 'post',
    path: '/v1/chat',
    scopes: ['read', 'enqueue', 'answer'],
    summary: 'Send a message of a chat page, answer its calls, edit or regenerate, and stream the answer.',
    headers,
    body: chatRequestSchema,
    results: { [EVENT_STREAM]: chunkSchema },
  },
  {
    operation: 'resumeChat',
    method: 'get',
    path: `${CHAT}/stream`,
    scopes: ['read'],
    summary: 'Stream the open answer of a chat from its start.',
    headers,
    results: { [EVENT_STREAM]: chunkSchema },
    empty: 'No answer is open.',
  },
  {
    operation: 'stopChat',
    method: 'post',
    path: `${CHAT}/stop`,
    scopes: ['enqueue'],
    summary: 'Cancel the turn of a message. A turn that has ended stays as it is, and the answer has its state.',
    body: stopRequestSchema,
    results: { 'application/json': z.looseObject({ turn: idSchema, state: z.enum(TURN_STATES) }) },
  },
  {
    operation: 'showChat',
    method: 'get',
    path: CHAT,
    scopes: ['read'],
    summary: 'List the messages of a chat for a page that opens it.',
    results: { 'application/json': z.looseObject({ id: idSchema, messages: z.array(messageSchema) }) },
  },
];

export function readVersionHeader(value: string | undefined): z.output<typeof headers>[typeof VERSION_HEADER] {
  return parseInput(headers, { [VERSION_HEADER]: value })[VERSION_HEADER];
}

import type { Context, Hono } from 'hono';
import { idSchema } from '../../../domain/ids.ts';
import { parseInput } from '../../../domain/parse.ts';
import { isAnswerKind } from '../../../domain/turn.ts';
import type { AccessOptions } from '../access.ts';
import { type Backend, type FrontEndOptions, openBackend } from '../front-end/backend.ts';
import { readOpenTurns } from '../front-end/reads.ts';
import {
  guardApp,
  leavingOf,
  openApp,
  readBody,
  serverFactsOf,
  streamFrames,
  writeData,
} from '../front-end/server-facts.ts';
import { answerJson, writeMessages } from '../json-answer.ts';
import { readJsonBody } from '../request-body.ts';
import { openChatHistory } from './chat-history.ts';
import { type ChatRequest, readChatRequest } from './chat-request.ts';
import { answerWait, takeChatRequest } from './chat-turns.ts';
import { ChunkTable, type SdkVersion } from './chunks.ts';
import { aiSdkRoutes, readVersionHeader } from './routes.ts';
import { stopChat } from './stop-chat.ts';
import type { ChatTurn } from './turn-names.ts';

export interface AiSdkOptions extends FrontEndOptions {
  /** AI SDK of the pages (6), unless the header `x-ai-sdk-version` names another. 5 has no approvals. */
  readonly sdkVersion?: SdkVersion;
  /** How long after its end a page that resumes still gets a turn, in ms (default 10,000). 0: only open turns. */
  readonly replayMs?: number;
}

const REPLAY_MS = 10_000;
const FRAMES = { headers: { 'x-vercel-ai-ui-message-stream': 'v1' } };

/** Routes for `useChat`, to be mounted in a server. @throws invalid_config without `authenticate` */
export function aiSdkApp(options: AiSdkOptions): Hono {
  return guardApp(openChat(options), aiSdkRoutes, options);
}

type ChatOptions = Omit<AiSdkOptions, keyof AccessOptions>;

export function openChat(options: ChatOptions): Hono {
  const { replayMs = REPLAY_MS } = options;
  const app = openApp();

  app.post('/v1/chat', async (context) => {
    const backend = await openBackend(options, context);
    const version = readVersion(context, options);
    const request = readChatRequest(await readBody(context));
    serverFactsOf(context).readers.checkPlace();
    const turn = await takeChatRequest(backend, request);
    const { id } = request;
    const chat = { backend, id, version, request };
    return await streamFrames(context, (left) => streamChat({ ...chat, left }, turn), FRAMES);
  });

  app.get('/v1/chat/:id/stream', async (context) => {
    const backend = await openBackend(options, context);
    const id = parseInput(idSchema, context.req.param('id'), 'id');
    const turn = await findActive(backend, id, replayMs);
    if (turn === undefined) return context.body(null, 204);
    const version = readVersion(context, options);
    return await streamFrames(context, (left) => streamChat({ backend, id, version, left }, { turn }), FRAMES);
  });

  app.post('/v1/chat/:id/stop', async (context) => {
    const backend = await openBackend(options, context);
    const id = parseInput(idSchema, context.req.param('id'), 'id');
    const body = await readJsonBody(context.req.raw, serverFactsOf(context).body);
    return context.json(await stopChat(backend, id, body, leavingOf(context)));
  });

  app.get('/v1/chat/:id', async (context) => {
    const backend = await openBackend(options, context);
    const id = parseInput(idSchema, context.req.param('id'), 'id');
    const { readers, streams: limits, cut } = serverFactsOf(context);
    const pieces = writeMessages(id, await openChatHistory(backend, id));
    return answerJson({ request: context.req.raw, cut, readers, limits, pieces });
  });
  return app;
}

interface OpenChat {
  readonly backend: Backend;
  readonly id: string;
  readonly version: SdkVersion;
  readonly request?: ChatRequest;
  readonly left: AbortSignal;
}

async function* streamChat(
  { backend, id, version, request, left }: OpenChat,
  { turn, known }: ChatTurn,
): AsyncGenerator<string> {
  const table = new ChunkTable({ turn, version, known });
  const { isBehind, ...place } = await describePlace(backend, id, turn);
  // A page shows an answer once it starts. Behind a turn that waits for answers, this answer does not start yet.
  const start = table.start();
  const begin = (): string => start.splice(0).map(writeData).join('');
  if (!isBehind) yield begin();
  yield writeData(place);
  for await (const part of backend.client.stream(backend.nameOf(id), turn, { signal: left })) {
    if (part.type === 'wait' && request !== undefined && (await answerWait(backend, request, turn, part.waiting)))
      continue;
    if (part.type !== 'behind') yield begin();
    for (const chunk of table.add(part)) yield writeData(chunk);
    if (table.isDone) break;
  }
  yield 'data: [DONE]\n\n';
}

async function describePlace({ client, nameOf }: Backend, id: string, turn: string) {
  const { turns } = await client.openTurns(nameOf(id), { limit: 1_000 });
  const position = turns.findIndex((open) => open.turn === turn);
  const state = turns[position]?.state ?? 'settled';
  const data = { turn, state, position: Math.max(0, position) };
  const first = turns[0]?.waiting;
  const isBehind = position > 0 && first !== undefined && isAnswerKind(first.for);
  return { isBehind, type: 'data-turn', id: 'turn', data, transient: true };
}

async function findActive(backend: Backend, id: string, replayMs: number): Promise<string | undefined> {
  const { client, nameOf } = backend;
  const open = await readOpenTurns(backend, id, {});
  if (open === undefined) return undefined;
  // Events have the time of Redis.
  const { at: now, turns } = open;
  const [first] = turns;
  if (first !== undefined || replayMs === 0) return first?.turn;
  let last: string | undefined;
  for await (const event of client.events(nameOf(id), { after: '0', waitMs: 0 })) {
    if (event.type !== 'lost' && event.type === 'turn_settled' && event.at > now - replayMs) last = event.turn;
  }
  return last;
}

function readVersion(context: Context, { sdkVersion = 6 }: ChatOptions): SdkVersion {
  return readVersionHeader(context.req.header('x-ai-sdk-version')) ?? sdkVersion;
}

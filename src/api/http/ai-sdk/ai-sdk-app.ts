import type { Context, Hono } from 'hono';
import { idSchema } from '../../../domain/ids.ts';
import { parseInput } from '../../../domain/parse.ts';
import type { AccessOptions } from '../access.ts';
import { type Backend, type FrontEndOptions, openBackend } from '../front-end/backend.ts';
import { guardApp, leavingOf, openApp, readBody, serverFactsOf, streamFrames } from '../front-end/server-facts.ts';
import { answerJson, writeMessages } from '../json-answer.ts';
import { readJsonBody } from '../request-body.ts';
import { acceptMessage } from './accept-message.ts';
import { answerCalls } from './chat-answers.ts';
import { openChatHistory } from './chat-history.ts';
import { followChat } from './chat-live.ts';
import { readChatRequest } from './chat-request.ts';
import { findActive, streamChat } from './chat-stream.ts';
import { takeChatRequest } from './chat-turns.ts';
import { type ChunkPosition, readChunkPosition } from './chunk-position.ts';
import type { SdkVersion } from './chunks.ts';
import { readHistoryPage } from './history-page.ts';
import { aiSdkRoutes, liveQuery, readVersionHeader, resumeQuery } from './routes.ts';
import { stopChat } from './stop-chat.ts';
import type { WhileWaiting } from './while-waiting.ts';

export interface AiSdkOptions extends FrontEndOptions {
  /** AI SDK of the pages (6), unless the header `x-ai-sdk-version` names another. 5 has no approvals. */
  readonly sdkVersion?: SdkVersion;
  /** How long after its end a page that resumes still gets a turn, in ms (default 10,000). 0: only open turns. */
  readonly replayMs?: number;
  /**
   * Treatment of a message that is sent while calls wait for answers (`refuse`). `refuse`: the page gets 409 `waiting`.
   * `deny`: the calls are denied, and the message is next. `steer`: the message joins the turn once the calls have
   * answers. `enqueue`: the message is next once they have.
   */
  readonly whileWaiting?: WhileWaiting;
}

const REPLAY_MS = 10_000;
const FRAMES = { headers: { 'x-vercel-ai-ui-message-stream': 'v1' } };

/** Routes for `useChat`, to be mounted in a server. @throws invalid_config without `authenticate` */
export function aiSdkApp(options: AiSdkOptions): Hono {
  return guardApp(openChat(options), aiSdkRoutes, options);
}

type ChatOptions = Omit<AiSdkOptions, keyof AccessOptions>;

interface Asked {
  readonly backend: Backend;
  /** Id of the chat. */
  readonly id: string;
}

export function openChat(options: ChatOptions): Hono {
  const { replayMs = REPLAY_MS, whileWaiting = 'refuse' } = options;
  const app = openApp();
  const ask = async (context: Context): Promise<Asked> => {
    const backend = await openBackend(options, context);
    return { backend, id: parseInput(idSchema, context.req.param('id'), 'id') };
  };

  app.post('/v1/chat', async (context) => {
    const backend = await openBackend(options, context);
    const version = readVersion(context, options);
    const request = readChatRequest(await readBody(context));
    serverFactsOf(context).readers.checkPlace();
    const turn = await takeChatRequest(backend, request, whileWaiting);
    const { id } = request;
    const chat = { backend, id, version, request };
    return await streamFrames(context, (left) => streamChat({ ...chat, left }, turn), FRAMES);
  });

  app.get('/v1/chat/:id/stream', async (context) => {
    const { backend, id } = await ask(context);
    const { after: place } = parseInput(resumeQuery, context.req.query());
    const after = place === undefined ? undefined : readChunkPosition(place, 'after');
    const turn = await findResumed({ backend, id }, after, replayMs);
    if (turn === undefined) return context.body(null, 204);
    const version = readVersion(context, options);
    return await streamFrames(context, (left) => streamChat({ backend, id, version, left }, { turn, after }), FRAMES);
  });

  app.post('/v1/chat/:id/stop', async (context) => {
    const { backend, id } = await ask(context);
    const body = await readJsonBody(context.req.raw, serverFactsOf(context).body);
    return context.json(await stopChat(backend, id, body, leavingOf(context)));
  });

  app.get('/v1/chat/:id', async (context) => {
    const { backend, id } = await ask(context);
    const { readers, streams: limits, cut } = serverFactsOf(context);
    const pieces = writeMessages(id, await openChatHistory(backend, id, readVersion(context, options)));
    return answerJson({ request: context.req.raw, cut, readers, limits, pieces });
  });
  return openPageRoutes(app, ask, options);
}

/** Routes of `turnfold/chat`, beside those that the stock transport calls. */
function openPageRoutes(app: Hono, ask: (context: Context) => Promise<Asked>, options: ChatOptions): Hono {
  const { whileWaiting = 'refuse' } = options;
  app.get('/v1/chat/:id/messages', async (context) => {
    const chat = { ...(await ask(context)), sdkVersion: readVersion(context, options) };
    return context.json(await readHistoryPage(chat, context.req.query()));
  });

  app.post('/v1/chat/:id/messages', async (context) => {
    const { backend, id } = await ask(context);
    return context.json(await acceptMessage(backend, { id, body: await readBody(context), whileWaiting }), 202);
  });

  app.post('/v1/chat/:id/answers', async (context) => {
    const { backend, id } = await ask(context);
    return context.json(await answerCalls(backend, id, await readBody(context)));
  });

  app.get('/v1/chat/:id/live', async (context) => {
    const { backend, id } = await ask(context);
    const { after } = parseInput(liveQuery, context.req.query());
    return await streamFrames(context, (left) => followChat({ backend, id, after, left }));
  });
  return app;
}

/** @throws not_found if the turn of the position is no longer kept */
async function findResumed(
  { backend, id }: Asked,
  after: ChunkPosition | undefined,
  replayMs: number,
): Promise<string | undefined> {
  if (after === undefined) return await findActive(backend, id, replayMs);
  return (await backend.client.result(backend.nameOf(id), after.turn)).turn;
}

function readVersion(context: Context, { sdkVersion = 6 }: ChatOptions): SdkVersion {
  return readVersionHeader(context.req.header('x-ai-sdk-version')) ?? sdkVersion;
}

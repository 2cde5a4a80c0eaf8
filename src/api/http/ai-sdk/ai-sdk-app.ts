import type { Context, Hono } from 'hono';
import { idSchema } from '../../../domain/ids.ts';
import { parseInput } from '../../../domain/parse.ts';
import { isAnswerKind } from '../../../domain/turn.ts';
import type { AccessOptions } from '../access.ts';
import { type Backend, type FrontEndOptions, openBackend } from '../front-end/backend.ts';
import { EarlyStops } from '../front-end/early-stops.ts';
import { readIfAny, readOpenTurns } from '../front-end/reads.ts';
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
import { acceptMessage } from './accept-message.ts';
import { answerCalls } from './chat-answers.ts';
import { openChatHistory } from './chat-history.ts';
import { followChat } from './chat-live.ts';
import { type ChatRequest, readChatRequest } from './chat-request.ts';
import { answerWait, takeChatRequest } from './chat-turns.ts';
import { readChunkPosition, writeChunkPosition } from './chunk-position.ts';
import { type Chunk, ChunkTable, type SdkVersion } from './chunks.ts';
import { readHistoryPage } from './history-page.ts';
import { findResumed } from './open-chat-turns.ts';
import { aiSdkRoutes, liveQuery, readVersionHeader, resumeQuery } from './routes.ts';
import { stopChat } from './stop-chat.ts';
import type { StreamedAnswer } from './turn-names.ts';
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
  const stops = new EarlyStops();
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
    await endIfStopped(backend, stops, { id, turn: turn.turn });
    const chat = { backend, id, version, request };
    return await streamFrames(context, (left) => streamChat({ ...chat, left }, turn), FRAMES);
  });

  app.get('/v1/chat/:id/stream', async (context) => {
    const { backend, id } = await ask(context);
    const { after: place, turn: named } = parseInput(resumeQuery, context.req.query());
    const after = place === undefined ? undefined : readChunkPosition(place, 'after');
    const turn = await findResumed(backend, id, { after, named, replayMs });
    if (turn === undefined) return context.body(null, 204);
    const version = readVersion(context, options);
    return await streamFrames(context, (left) => streamChat({ backend, id, version, left }, { turn, after }), FRAMES);
  });

  app.post('/v1/chat/:id/stop', async (context) => {
    const { backend, id } = await ask(context);
    const body = await readJsonBody(context.req.raw, serverFactsOf(context).body);
    return context.json(await stopChat(backend, id, { body, stops, left: leavingOf(context) }));
  });

  app.get('/v1/chat/:id', async (context) => {
    const { backend, id } = await ask(context);
    const { readers, streams: limits, cut } = serverFactsOf(context);
    const pieces = writeMessages(id, await openChatHistory(backend, id, readVersion(context, options)));
    return answerJson({ request: context.req.raw, cut, readers, limits, pieces });
  });
  return openPageRoutes(app, { ask, stops, options });
}

/** Cancels a turn for which a stop came before it. */
async function endIfStopped(
  { client, tenant, nameOf }: Backend,
  stops: EarlyStops,
  { id, turn }: { readonly id: string; readonly turn: string },
): Promise<void> {
  if (await stops.take([tenant, id, turn])) await readIfAny(client.cancel(nameOf(id), turn));
}

interface PageRoutes {
  readonly ask: (context: Context) => Promise<Asked>;
  readonly stops: EarlyStops;
  readonly options: ChatOptions;
}

/** Routes of `turnfold/chat`, beside those that the stock transport calls. */
function openPageRoutes(app: Hono, { ask, stops, options }: PageRoutes): Hono {
  const { whileWaiting = 'refuse' } = options;
  app.get('/v1/chat/:id/messages', async (context) => {
    const chat = { ...(await ask(context)), sdkVersion: readVersion(context, options) };
    return context.json(await readHistoryPage(chat, context.req.query()));
  });

  app.post('/v1/chat/:id/messages', async (context) => {
    const { backend, id } = await ask(context);
    const accepted = await acceptMessage(backend, { id, body: await readBody(context), whileWaiting });
    await endIfStopped(backend, stops, { id, turn: accepted.turn });
    return context.json(accepted, 202);
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

function readVersion(context: Context, { sdkVersion = 6 }: ChatOptions): SdkVersion {
  return readVersionHeader(context.req.header('x-ai-sdk-version')) ?? sdkVersion;
}

interface OpenChat {
  readonly backend: Backend;
  readonly id: string;
  readonly version: SdkVersion;
  readonly request?: ChatRequest;
  readonly left: AbortSignal;
}

/**
 * Writes the chunks of a turn. The position of the page follows the chunks of each part, as the id of an event without
 * data. Behind the last part there is none: a page that lost the end gets the last part again.
 */
async function* streamChat(
  { backend, id, version, request, left }: OpenChat,
  { turn, known, after }: StreamedAnswer,
): AsyncGenerator<string> {
  const table = new ChunkTable({ turn, version, known, state: after?.table });
  let hasBegun = after?.hasBegun === true;
  const write = (part: string, chunks: readonly Chunk[]): string => {
    return writeChunks(chunks, writeChunkPosition({ turn, part, hasBegun, table: table.state }));
  };
  const begin = (): Chunk[] => {
    if (hasBegun) return [];
    hasBegun = true;
    return table.start();
  };
  const { isBehind, ...place } = await describePlace(backend, id, turn);
  // A page shows an answer once it starts. Behind a turn that waits for answers, this answer does not start yet.
  const started = isBehind ? [] : begin();
  yield write(after?.part ?? '', [...started, place]);
  const from = after === undefined || after.part === '' ? {} : { after: after.part };
  for await (const part of backend.client.stream(backend.nameOf(id), turn, { ...from, signal: left })) {
    if (part.type === 'wait' && request !== undefined && (await answerWait(backend, request, turn, part.waiting)))
      continue;
    const first = part.type === 'behind' ? [] : begin();
    const chunks = [...first, ...table.add(part)];
    if (table.isDone) {
      yield writeChunks(chunks, undefined);
      break;
    }
    if (chunks.length > 0) yield write(part.id, chunks);
  }
  yield 'data: [DONE]\n\n';
}

function writeChunks(chunks: readonly Chunk[], position: string | undefined): string {
  const frames = chunks.map(writeData).join('');
  return position === undefined ? frames : `${frames}id: ${position}\n\n`;
}

async function describePlace(
  backend: Backend,
  id: string,
  turn: string,
): Promise<Chunk & { readonly isBehind: boolean }> {
  const turns = (await readOpenTurns(backend, id, { limit: 1_000 }))?.turns ?? [];
  const position = turns.findIndex((open) => open.turn === turn);
  const state = turns[position]?.state ?? 'settled';
  const data = { turn, state, position: Math.max(0, position) };
  const first = turns[0]?.waiting;
  const isBehind = position > 0 && first !== undefined && isAnswerKind(first.for);
  return { isBehind, type: 'data-turn', id: 'turn', data, transient: true };
}

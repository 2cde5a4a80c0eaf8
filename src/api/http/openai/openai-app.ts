import type { Context, Hono } from 'hono';
import { fieldError } from '../../../domain/errors.ts';
import { seqOfCallId } from '../../../domain/ids.ts';
import { MAX_CALLS } from '../../../domain/message.ts';
import { parseInput } from '../../../domain/parse.ts';
import { isSettled } from '../../../domain/turn.ts';
import type { TurnOwn } from '../../../domain/turn-own.ts';
import { countMessage } from '../../../wire/tokens/message-tokens.ts';
import { loadTokenCounter } from '../../../wire/tokens/token-counter.ts';
import { addCompact } from '../compact/compact-app.ts';
import { type Backend, type BackendOptions, type FrontEndOptions, openBackend } from '../front-end/backend.ts';
import { openLog, readIfAny, readTurn } from '../front-end/reads.ts';
import { guardApp, openApp, readBody } from '../front-end/server-facts.ts';
import { placeItems, readMessages } from '../responses/create-request.ts';
import { resolveReferences } from '../responses/item-references.ts';
import { type ContextFields, inputTokensSchema, listItems, readRequestOwn } from '../responses/request-schema.ts';
import { type ResponseName, readResponseId, unknownResponse, writeCallId } from '../responses/response-names.ts';
import type { OutputItem } from '../responses/response-object.ts';
import { addResponses, nameResponse } from '../responses/responses-app.ts';
import { addChatCompletions } from './chat-app.ts';
import { type ItemList, type ItemPage, pageItems, pageSchema } from './conversation-items.ts';
import { addConversations } from './conversations.ts';
import { answerOpenAiError } from './errors.ts';
import { writeLogItems } from './log-items.ts';
import { checkModel, listModels, readModel } from './models.ts';
import { OPENAI_BASE, openAiRoutes } from './routes.ts';

/** The APIs of OpenAI under `/openai/v1`, to be mounted in a server. @throws invalid_config without `authenticate` */
export function openAiApp(options: FrontEndOptions): Hono {
  return guardApp(openOpenAiRoutes(options), openAiRoutes, options, answerOpenAiError);
}

export function openOpenAiRoutes(options: BackendOptions): Hono {
  const app = openApp(answerOpenAiError);
  const base = OPENAI_BASE;
  // Before the routes of one response, whose pattern takes this path, too.
  app.post(`${base}/responses/input_tokens`, async (context) => {
    const backend = await openBackend(options, context);
    const tokens = await countInputTokens(backend, await readBody(context));
    return context.json({ object: 'response.input_tokens', input_tokens: tokens });
  });
  addCompact(app, {}, base);
  addResponses(app, options, base);
  app.delete(`${base}/responses/:id`, async (context) => {
    const backend = await openBackend(options, context);
    const id = context.req.param('id');
    await deleteResponse(backend, readResponseId(id));
    return context.json({ id, object: 'response', deleted: true });
  });
  app.get(`${base}/responses/:id/input_items`, async (context) => {
    const backend = await openBackend(options, context);
    const page = parseInput(pageSchema, context.req.query());
    return context.json(await listInputItems(backend, readResponseId(context.req.param('id')), page));
  });
  addConversations(app, options, base);
  addChatCompletions(app, options, base);
  addModels(app, options, base);
  return app;
}

function addModels(app: Hono, options: BackendOptions, base: string): void {
  app.get(`${base}/models`, async (context: Context) => {
    const data = await listModels(await openBackend(options, context));
    return context.json({ object: 'list', data });
  });
  app.get(`${base}/models/:model`, async (context) => {
    return context.json(await readModel(await openBackend(options, context), context.req.param('model')));
  });
}

/** Lists the message that began a response, or the outputs of calls that it goes on from. */
async function listInputItems(backend: Backend, name: ResponseName, page: ItemPage): Promise<ItemList> {
  const { conversation, turn, answered } = name;
  const { client, nameOf } = backend;
  const view = await nameResponse(() => client.result(nameOf(conversation), turn));
  if (answered !== undefined) return pageItems(await listOutputs(backend, name, answered), page);
  if (view.inputSeq === undefined) return pageItems([], page);
  const log = await client.log(nameOf(conversation), { after: view.inputSeq - 1, limit: 1 });
  return pageItems(
    log.flatMap((entry) => writeLogItems(conversation, entry)),
    page,
  );
}

/** Lists the outputs of the step that made a call. Their calls have the names that the caller knows. */
async function listOutputs(backend: Backend, name: ResponseName, call: string): Promise<OutputItem[]> {
  const { client, nameOf } = backend;
  const { conversation, turn } = name;
  const limit = 1 + MAX_CALLS;
  const log = await client.log(nameOf(conversation), { after: seqOfCallId(call) - 1, limit });
  const made = new Set(log[0]?.message.toolCalls?.map(({ id }) => id));
  return log.flatMap((entry) => {
    const { toolCallId: id = '' } = entry.message;
    if (entry.turn !== turn || !made.has(id)) return [];
    return writeLogItems(conversation, entry).map((item) => ({ ...item, call_id: writeCallId('call', name, { id }) }));
  });
}

/**
 * Erases a response with its conversation, if the response is all that the conversation has.
 * @throws conflict if other responses need its messages
 */
async function deleteResponse(backend: Backend, name: ResponseName): Promise<void> {
  const { client, nameOf } = backend;
  const { conversation, turn } = name;
  const view = await readTurn(backend, conversation, turn);
  if (view === undefined) throw unknownResponse();
  if (!isSettled(view.state) || (await hasOtherTurns(backend, name))) {
    const why = `cancel the response first, and erase its conversation ${conversation} with all responses in it`;
    throw fieldError('conflict', 'response_id', `the response is not alone in its conversation, or not over: ${why}`);
  }
  await client.erase(nameOf(conversation));
}

async function hasOtherTurns({ client, nameOf }: Backend, { conversation, turn }: ResponseName): Promise<boolean> {
  const isOther = (one: { readonly turn?: string }): boolean => one.turn !== undefined && one.turn !== turn;
  const open = (await readIfAny(client.openTurns(nameOf(conversation), { limit: 2 })))?.turns ?? [];
  if (open.some(isOther)) return true;
  for await (const entry of await openLog(client, nameOf(conversation))) if (isOther(entry)) return true;
  return false;
}

const EACH_TOOL = 8;

/** Estimates the tokens of a request, with the encoding of OpenAI's models. The agent's own prompt is not in it. */
async function countInputTokens(backend: Backend, body: unknown): Promise<number> {
  const read: ContextFields = parseInput(inputTokensSchema, body);
  const { model, conversation, previous_response_id: previous, input } = read;
  if (model !== undefined && model !== null) await checkModel(backend, model);
  const own = readRequestOwn(read);
  const asked =
    typeof previous === 'string' ? readResponseId(previous, 'previous_response_id').conversation : undefined;
  const continued = asked ?? (typeof conversation === 'string' ? conversation : conversation?.id);
  const items = input === undefined || input === null ? [] : listItems(input);
  const placed = await resolveReferences(backend, placeItems(items), continued);
  const counter = await loadTokenCounter('o200k_base');
  const sizes = await Promise.all(readMessages(placed).map((message) => countMessage(counter, message)));
  const brought = await countMessage(counter, { content: writeOwn(own) });
  const known = continued === undefined ? 0 : await readUsedTokens(backend, continued);
  return sizes.reduce((sum, size) => sum + size, brought + (own.tools?.length ?? 0) * EACH_TOOL + known);
}

async function readUsedTokens({ client, nameOf }: Backend, conversation: string): Promise<number> {
  return (await readIfAny(client.breakdown(nameOf(conversation))))?.window.usedTokens ?? 0;
}

function writeOwn({ instructions = '', tools = [], answer }: TurnOwn): string {
  const described = [...tools, ...(answer === undefined ? [] : [answer.schema])];
  return [instructions, ...described.map((one) => JSON.stringify(one))].filter((text) => text !== '').join('\n');
}

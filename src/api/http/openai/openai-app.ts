import type { Context, Hono } from 'hono';
import { parseInput } from '../../../domain/parse.ts';
import { addCompact } from '../compact/compact-app.ts';
import { type BackendOptions, type FrontEndOptions, openBackend } from '../front-end/backend.ts';
import { guardApp, openApp, readBody } from '../front-end/server-facts.ts';
import { readResponseId } from '../responses/response-names.ts';
import { addResponses } from '../responses/responses-app.ts';
import { addChatCompletions } from './chat-app.ts';
import { pageSchema } from './conversation-items.ts';
import { addConversations } from './conversations.ts';
import { answerOpenAiError } from './errors.ts';
import { listModels, readModel } from './models.ts';
import { countInputTokens, deleteResponse, listInputItems } from './response-reads.ts';
import { OPENAI_BASE, openAiRoutes } from './routes.ts';

/** The APIs of OpenAI under `/openai/v1`, to be mounted in a server. @throws invalid_config without `authenticate` */
export function openAiApp(options: FrontEndOptions): Hono {
  return guardApp(openOpenAi(options), openAiRoutes, options, answerOpenAiError);
}

export function openOpenAi(options: BackendOptions): Hono {
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

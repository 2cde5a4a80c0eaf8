import { Hono } from 'hono';
import { fieldError, isTurnfoldError } from '../../domain/errors.ts';
import { isAnswerKind } from '../../domain/turn.ts';
import { type Backend, type FrontEndOptions, openBackend } from '../front-end/backend.ts';
import { answerProblems, readBody, streamFrames, writeData } from '../front-end/server-facts.ts';
import { EventTable } from './events.ts';
import { type RunRequest, readRunRequest } from './run-input.ts';

/** AG-UI 1.0: one route that runs the agent, to be mounted in a server. */
export function agUiApp(options: FrontEndOptions): Hono {
  const app = new Hono();
  answerProblems(app);
  app.post('/v1/ag-ui', async (context) => {
    const backend = await openBackend(options, context);
    const body = await readBody(context);
    const request = readRunRequest(body);
    return await streamFrames(context, (left) => streamRun(backend, request, left));
  });
  return app;
}

async function* streamRun(backend: Backend, request: RunRequest, left: AbortSignal): AsyncGenerator<string> {
  const { threadId, runId, turn, messages, isRepeated = false, answers } = request;
  const answered = answers && new Set(Object.keys(answers));
  const table = new EventTable({ threadId, runId, turn, messages, ...(answered && { answered }) });
  yield writeData({ type: 'RUN_STARTED', threadId, runId, protocolVersion: '1.0' });
  if (isRepeated) yield writeData({ type: 'MESSAGES_SNAPSHOT', messages });
  try {
    await (answers === undefined ? beginTurn(backend, request) : answerCalls(backend, request));
    const { client, nameOf } = backend;
    for await (const part of client.stream(nameOf(threadId), turn, { signal: left })) {
      for (const event of table.add(part)) yield writeData(event);
      if (table.isDone) return;
    }
  } catch (error) {
    if (left.aborted) return;
    const { code, message } = isTurnfoldError(error)
      ? error
      : { code: 'internal_error', message: 'The server failed. Run again with the same runId' };
    for (const event of table.fail(code, message)) yield writeData(event);
  }
}

/** A turn has the id of its run, so a repeated request streams the same turn from its start. */
async function beginTurn({ client, agent, tenant, nameOf }: Backend, request: RunRequest): Promise<void> {
  const { threadId: conversation, turn, input = '' } = request;
  const open = await client.openTurns(nameOf(conversation)).catch((error: unknown) => {
    if (!isTurnfoldError(error, 'not_found')) throw error;
  });
  const first = open?.turns[0];
  if (first?.waiting !== undefined && isAnswerKind(first.waiting.for) && first.turn !== turn) {
    const calls = first.waiting.calls.map(({ id }) => id).join(', ');
    throw fieldError('conversation_busy', 'threadId', `the thread waits for answers to ${calls}. Answer them first`);
  }
  await client.enqueueTurn({ conversation, tenant, agent, turn, input });
}

/** Answers every open interrupt, or none. A repeated request changes nothing. */
async function answerCalls({ client, nameOf }: Backend, { threadId, turn, answers = {} }: RunRequest): Promise<void> {
  const { waiting } = await client.result(nameOf(threadId), turn);
  const missing = waiting?.for === 'approval' ? waiting.calls.filter(({ id }) => !(id in answers)) : [];
  if (missing.length > 0) {
    const ids = missing.map(({ id }) => id).join(', ');
    throw fieldError(
      'conflict',
      'resume',
      `the thread also waits for answers to ${ids}. Answer all interrupts at once`,
    );
  }
  await client.answer(nameOf(threadId), turn, answers);
}

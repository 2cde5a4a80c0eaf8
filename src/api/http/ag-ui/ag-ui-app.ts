import type { Hono } from 'hono';
import { z } from 'zod';
import type { Waiting } from '../../../domain/turn.ts';
import type { ProtocolRoute } from '../app-options.ts';
import { EVENT_STREAM } from '../event-stream.ts';
import { type Backend, type BackendOptions, type FrontEndOptions, openBackend } from '../front-end/backend.ts';
import { guardApp, leavingOf, openApp, readBody, streamFrames, writeData } from '../front-end/server-facts.ts';
import { type AgUiEvent, EventTable } from './events.ts';
import { type RunRequest, readRunRequest, runInputSchema } from './run-input.ts';
import { readAllResults } from './run-messages.ts';
import { takeRun } from './run-turns.ts';
import { stopRun, stopRunRoute } from './stop-run.ts';

/** Routes of AG-UI for the OpenAPI document. */
export const agUiRoutes: readonly ProtocolRoute[] = [
  {
    operation: 'runAgent',
    method: 'post',
    path: '/v1/ag-ui',
    scopes: ['read', 'enqueue', 'answer'],
    summary: 'Run the agent on a thread by AG-UI 1.0, or resume an interrupted run, and stream its events.',
    body: runInputSchema,
    results: {
      [EVENT_STREAM]: z.looseObject({ type: z.string() }).meta({ id: 'AgUiEvent', description: 'An event of AG-UI.' }),
    },
  },
  stopRunRoute,
];

/**
 * AG-UI 1.0: a route that runs the agent, and one that stops a run, to be mounted in a server.
 * @throws invalid_config without `authenticate`
 */
export function agUiApp(options: FrontEndOptions): Hono {
  return guardApp(openAgUi(options), agUiRoutes, options);
}

/** The routes for a server that checks its callers. */
export function openAgUi(options: BackendOptions): Hono {
  const app = openApp();
  app.post('/v1/ag-ui', async (context) => {
    const backend = await openBackend(options, context);
    const request = readRunRequest(await readBody(context));
    const run = new RunStream(backend, request);
    return await streamFrames(context, (left) => run.write(left), {
      writeFailure: ({ code, message }) => writeAll(run.table.fail(code, message)),
    });
  });
  app.post('/v1/ag-ui/stop', async (context) => {
    const backend = await openBackend(options, context);
    return context.json(await stopRun(backend, await readBody(context), leavingOf(context)));
  });
  return app;
}

/** The events of one run. */
class RunStream {
  readonly #backend: Backend;
  readonly #request: RunRequest;
  /** The table of the turn that is streamed now. */
  table: EventTable;

  constructor(backend: Backend, request: RunRequest) {
    this.#backend = backend;
    this.#request = request;
    this.table = this.#openTable(request.runId);
  }

  async *write(left: AbortSignal): AsyncGenerator<string> {
    const { threadId, runId, messages, isRepeated } = this.#request;
    yield writeData({ type: 'RUN_STARTED', threadId, runId, protocolVersion: '1.0' });
    if (isRepeated) yield writeData({ type: 'MESSAGES_SNAPSHOT', messages });
    const { answered, hasOwn } = await takeRun(this.#backend, this.#request);
    if (answered !== undefined) {
      this.table = this.#openTable(answered.turn, answered.calls);
      yield* this.#follow(answered.turn, left, hasOwn);
      if (this.table.isDone) return;
    }
    this.table = this.#openTable(runId);
    yield* this.#follow(runId, left, false);
  }

  #openTable(turn: string, answered?: ReadonlySet<string>): EventTable {
    const { threadId, runId } = this.#request;
    const { messages } = this.table ?? this.#request;
    return new EventTable({ threadId, runId, turn, messages, ...(answered && { answered }) });
  }

  /** @param hasOwn true if the run has a turn of its own, which may follow this one */
  async *#follow(turn: string, left: AbortSignal, hasOwn: boolean): AsyncGenerator<string> {
    const { client, nameOf } = this.#backend;
    for await (const part of client.stream(nameOf(this.#request.threadId), turn, { signal: left })) {
      if (part.type === 'wait' && (await this.#answerFromMessages(turn, part.waiting))) continue;
      if (part.type === 'end' && hasOwn && (await this.#isNext(turn))) {
        yield writeAll(this.table.leave(part.view));
        return;
      }
      yield writeAll(this.table.add(part));
      if (this.table.isDone) return;
    }
  }

  /** The results of a turn's calls may have come with its approvals. The turn asks for them only afterwards. */
  async #answerFromMessages(turn: string, waiting: Waiting): Promise<boolean> {
    const { threadId, runId, messages } = this.#request;
    const answers = waiting.for === 'tools' ? readAllResults(messages, waiting.calls) : undefined;
    if (answers === undefined) return false;
    await this.#backend.client.answer(this.#backend.nameOf(threadId), turn, answers, { request: runId });
    return true;
  }

  /** True if the message of this run did not enter the turn that has ended, so that its own turn comes next. */
  async #isNext(turn: string): Promise<boolean> {
    const { client, nameOf } = this.#backend;
    const { threadId, runId } = this.#request;
    return (await client.result(nameOf(threadId), runId)).steeredInto !== turn;
  }
}

function writeAll(events: readonly AgUiEvent[]): string {
  return events.map(writeData).join('');
}

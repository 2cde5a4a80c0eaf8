import type { Hono } from 'hono';
import { z } from 'zod';
import { fieldError } from '../../../domain/errors.ts';
import { idSchema } from '../../../domain/ids.ts';
import { parseInput } from '../../../domain/parse.ts';
import { isSettled, TURN_STATES, type TurnState, type TurnView, type Waiting } from '../../../domain/turn.ts';
import type { ProtocolRoute } from '../app-options.ts';
import { EVENT_STREAM } from '../event-stream.ts';
import { type Backend, type BackendOptions, type FrontEndOptions, openBackend } from '../front-end/backend.ts';
import { awaitArrival, readIfAny, readLogTail, readOpenTurns, readTurn } from '../front-end/reads.ts';
import { guardApp, leavingOf, openApp, readBody, streamFrames, writeData } from '../front-end/server-facts.ts';
import { type AgUiEvent, EventTable } from './events.ts';
import { turnOf } from './message-names.ts';
import { type RunRequest, readRunRequest, runInputSchema } from './run-input.ts';
import { readAllResults } from './run-messages.ts';
import { takeRun } from './run-turns.ts';

const unnamed = 'expected the run to stop, or a `messageId` of it, because a stop without a name could end a later run';

const stopSchema = z
  .looseObject({
    threadId: idSchema,
    runId: idSchema.optional().describe('The run to stop: the one that began the turn, or one that resumed it.'),
    messageId: z.string().optional().describe('A message that the run has sent, instead of the run.'),
  })
  .refine(({ runId, messageId }) => (runId === undefined) !== (messageId === undefined), {
    path: ['runId'],
    message: unnamed,
  })
  .meta({ id: 'StopRun', examples: [{ threadId: 'support-42', runId: 'r1' }] });

/** AG-UI has no route for a stop: a client that aborts a run ends only its own connection. */
const stopRunRoute: ProtocolRoute = {
  operation: 'stopRun',
  method: 'post',
  path: '/v1/ag-ui/stop',
  scopes: ['enqueue'],
  summary: 'Cancel the turn of a run of AG-UI. A turn that has ended stays as it is, and the answer has its state.',
  body: stopSchema,
  results: { 'application/json': z.looseObject({ turn: idSchema, state: z.enum(TURN_STATES) }) },
};

/** A stop looks for the turn of an ended run among so many of the last log entries. */
const LOG_TAIL = 50;

async function stopRun(
  backend: Backend,
  body: unknown,
  left: AbortSignal,
): Promise<{ readonly turn: string; readonly state: TurnState }> {
  const { client, nameOf } = backend;
  const { threadId, runId, messageId = '' } = parseInput(stopSchema, body);
  const name = runId ?? parseInput(idSchema, turnOf(messageId), 'messageId');
  const run = await awaitArrival(() => findRun(backend, threadId, name), left);
  if (run === undefined) {
    const field = runId === undefined ? 'messageId' : 'runId';
    throw fieldError('not_found', field, `the thread has no run ${name}, or its turn is no longer kept`);
  }
  const { named, resumed } = run;
  // Messages of runs that resumed the turn wait behind it. They are canceled first, so that none of them begins.
  const others = (resumed.requests ?? []).filter((turn) => turn !== named.turn && turn !== resumed.turn);
  const behind = isSettled(resumed.state) ? [] : others.toReversed();
  for (const turn of behind) await readIfAny(client.cancel(nameOf(threadId), turn));
  const state = await client.cancel(nameOf(threadId), named.turn);
  if (!isSettled(resumed.state) && resumed.turn !== named.turn) await client.cancel(nameOf(threadId), resumed.turn);
  return { turn: named.turn, state };
}

interface Run {
  readonly named: TurnView;
  readonly resumed: TurnView;
}

async function findRun(backend: Backend, threadId: string, run: string): Promise<Run | undefined> {
  const own = await readTurn(backend, threadId, run);
  const open = await readOpenTurns(backend, threadId, { limit: 1 });
  const first = open?.turns.map(({ turn }) => turn);
  const resumed =
    (await findResumed(backend, threadId, run, first)) ??
    own ??
    (await findResumed(backend, threadId, run, await listLoggedTurns(backend, threadId)));
  return resumed && { named: own ?? resumed, resumed };
}

async function findResumed(
  backend: Backend,
  threadId: string,
  run: string,
  turns: readonly string[] = [],
): Promise<TurnView | undefined> {
  for (const turn of turns) {
    const view = await readTurn(backend, threadId, turn);
    if (view?.requests?.includes(run) === true) return view;
  }
  return undefined;
}

async function listLoggedTurns(backend: Backend, threadId: string): Promise<string[]> {
  const log = await readLogTail(backend, threadId, LOG_TAIL);
  return [...new Set(log.toReversed().flatMap(({ turn = '' }) => (turn === '' ? [] : [turn])))];
}

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

/** Routes of AG-UI 1.0, to be mounted in a server. @throws invalid_config without `authenticate` */
export function agUiApp(options: FrontEndOptions): Hono {
  return guardApp(openAgUi(options), agUiRoutes, options);
}

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

class RunStream {
  readonly #backend: Backend;
  readonly #request: RunRequest;
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

  /** A front-end may send results with approvals, although the turn waits for the results only afterwards. */
  async #answerFromMessages(turn: string, waiting: Waiting): Promise<boolean> {
    const { threadId, runId, messages } = this.#request;
    const answers = waiting.for === 'tools' ? readAllResults(messages, waiting.calls) : undefined;
    if (answers === undefined) return false;
    await this.#backend.client.answer(this.#backend.nameOf(threadId), turn, answers, { request: runId });
    return true;
  }

  /** True if the ended turn did not take the message of this run, so that the turn of this run comes next. */
  async #isNext(turn: string): Promise<boolean> {
    const { client, nameOf } = this.#backend;
    const { threadId, runId } = this.#request;
    return (await client.result(nameOf(threadId), runId)).steeredInto !== turn;
  }
}

function writeAll(events: readonly AgUiEvent[]): string {
  return events.map(writeData).join('');
}

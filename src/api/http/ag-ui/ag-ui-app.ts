import type { Context, Hono } from 'hono';
import { z } from 'zod';
import { fieldError } from '../../../domain/errors.ts';
import { idSchema } from '../../../domain/ids.ts';
import { parseInput } from '../../../domain/parse.ts';
import { isSettled, TURN_STATES, type TurnState, type TurnView, type Waiting } from '../../../domain/turn.ts';
import type { AccessOptions } from '../access.ts';
import type { ProtocolRoute } from '../app-options.ts';
import { EVENT_STREAM } from '../event-stream.ts';
import { type Backend, type BackendOptions, openBackend } from '../front-end/backend.ts';
import { awaitArrival, readIfAny, readLogTail, readOpenTurns, readTurn } from '../front-end/reads.ts';
import {
  guardApp,
  leavingOf,
  openApp,
  readBody,
  serverFactsOf,
  streamFrames,
  writeData,
} from '../front-end/server-facts.ts';
import { connectThreadRoute, readConnecting, ThreadStream } from './connect-thread.ts';
import { convertToForm } from './event-form.ts';
import { type AgUiEvent, type AgUiMessage, agUiEventSchema, EventTable } from './events.ts';
import { turnOf } from './message-names.ts';
import { type OnAbort, OpenRuns } from './open-runs.ts';
import { type RunRequest, readRunRequest, runInputSchema } from './run-input.ts';
import { readAllResults } from './run-messages.ts';
import { type RunTurns, takeRun } from './run-turns.ts';

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

/** AG-UI has no route for a stop: a client that aborts a run only ends its connection. */
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

/** Cancels the turn of a run together with the messages that its runs brought for it. @throws not_found */
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

const runRoute = {
  method: 'post',
  scopes: ['read', 'enqueue', 'answer'],
  body: runInputSchema,
  results: { [EVENT_STREAM]: agUiEventSchema },
} as const;

export const agUiRoutes: readonly ProtocolRoute[] = [
  {
    ...runRoute,
    operation: 'runAgent',
    path: '/v1/ag-ui',
    summary: 'Run the agent on a thread by AG-UI, or resume an interrupted run, and stream its events.',
  },
  connectThreadRoute,
  stopRunRoute,
  {
    ...runRoute,
    operation: 'runNamedAgent',
    path: '/v1/ag-ui/{agent}',
    summary: 'Run an agent by its name on a thread by AG-UI, and stream its events.',
  },
];

export interface AgUiOptions extends BackendOptions {
  /** Treatment of a run whose client aborts its request (`cancel`). */
  readonly onAbort?: OnAbort | undefined;
}

/** Routes of AG-UI, to be mounted in a server. @throws invalid_config without `authenticate` */
export function agUiApp(options: AgUiOptions & AccessOptions): Hono {
  return guardApp(openAgUi(options), agUiRoutes, options);
}

export function openAgUi({ onAbort = 'cancel', ...options }: AgUiOptions): Hono {
  const app = openApp();
  const runs = new OpenRuns();
  const answer = async (context: Context, backend: BackendOptions): Promise<Response> => {
    const opened = await openBackend(backend, context);
    const request = readRunRequest(await readBody(context));
    const { threadId, runId } = request;
    const { readers, onError } = serverFactsOf(context);
    readers.checkPlace();
    const taking = takeRun(opened, request);
    const run = new RunStream(opened, request, taking);
    const opening = {
      name: [opened.tenant, threadId, runId],
      aborted: context.req.raw.signal,
      isOver: () => run.isDone || readers.closing.aborted,
      stop: async () => await stopRun(opened, { threadId, runId }, readers.closing),
      onError,
    };
    const leave = onAbort === 'cancel' ? runs.enter(opening) : () => undefined;
    const write = async function* writeRun(left: AbortSignal): AsyncGenerator<string> {
      try {
        yield* run.write(left);
      } finally {
        leave();
      }
    };
    // The turn exists once the front-end has the status. AG-UI reports a refusal as an event of the stream.
    await Promise.allSettled([taking]);
    try {
      return await streamFrames(context, write, { writeFailure: ({ code, message }) => run.fail(code, message) });
    } catch (error) {
      leave();
      throw error;
    }
  };
  app.post('/v1/ag-ui', async (context) => await answer(context, options));
  app.post('/v1/ag-ui/connect', async (context) => {
    const backend = await openBackend(options, context);
    const thread = new ThreadStream(backend, readConnecting(await readBody(context)));
    return await streamFrames(context, (left) => thread.write(left), {
      writeFailure: ({ code, message }) => thread.fail(code, message),
    });
  });
  app.post('/v1/ag-ui/stop', async (context) => {
    const backend = await openBackend(options, context);
    return context.json(await stopRun(backend, await readBody(context), leavingOf(context)));
  });
  app.post('/v1/ag-ui/:agent', async (context) => {
    const agent = parseInput(idSchema, context.req.param('agent'), 'agent');
    return await answer(context, { ...options, agent });
  });
  return app;
}

/** Streams the events of one run: of the turn that it answers, and of its own turn. */
class RunStream {
  readonly #backend: Backend;
  readonly #request: RunRequest;
  readonly #taking: Promise<RunTurns>;
  #table: EventTable;

  /** @param taking run that is being taken. Its refusal ends the stream */
  constructor(backend: Backend, request: RunRequest, taking: Promise<RunTurns>) {
    this.#backend = backend;
    this.#request = request;
    this.#taking = taking;
    this.#table = this.#openTable(request.runId, request.messages);
  }

  async *write(left: AbortSignal): AsyncGenerator<string> {
    const { threadId, runId, messages, isRepeated, state } = this.#request;
    yield this.#write([{ type: 'RUN_STARTED', threadId, runId, protocolVersion: '1.0' }]);
    // A reader that connects later gets the state with the events.
    if (state !== undefined) yield this.#write([{ type: 'STATE_SNAPSHOT', snapshot: state }]);
    if (isRepeated) yield this.#write([{ type: 'MESSAGES_SNAPSHOT', messages }]);
    const { answered, hasOwn } = await this.#taking;
    if (answered !== undefined) {
      this.#table = this.#openTable(answered.turn, messages, answered.calls);
      yield* this.#follow(answered.turn, left, hasOwn);
      if (this.#table.isDone) return;
    }
    this.#table = this.#openTable(runId, this.#table.messages);
    yield* this.#follow(runId, left, false);
  }

  /** Writes the last event of a run that failed. */
  fail(code: string, message: string): string {
    return this.#write(this.#table.fail(code, message));
  }

  /** True once the run has its last event. */
  get isDone(): boolean {
    return this.#table.isDone;
  }

  #write(events: readonly AgUiEvent[]): string {
    return events.map((event) => writeData(convertToForm(event, this.#request.form))).join('');
  }

  #openTable(turn: string, messages: readonly AgUiMessage[], answered?: ReadonlySet<string>): EventTable {
    const { threadId, runId } = this.#request;
    return new EventTable({ threadId, runId, turn, messages, ...(answered && { answered }) });
  }

  /** @param hasOwn true if the run has a turn of its own, which may follow this one */
  async *#follow(turn: string, left: AbortSignal, hasOwn: boolean): AsyncGenerator<string> {
    const { client, nameOf } = this.#backend;
    for await (const part of client.stream(nameOf(this.#request.threadId), turn, { signal: left })) {
      if (part.type === 'wait' && (await this.#answerFromMessages(turn, part.waiting))) continue;
      if (part.type === 'end' && hasOwn && (await this.#isNext(turn))) {
        yield this.#write(this.#table.leave(part.view));
        return;
      }
      yield this.#write(this.#table.add(part));
      if (this.#table.isDone) return;
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

import type { Context, Hono } from 'hono';
import { isTurnfoldError } from '../../../domain/errors.ts';
import { idSchema } from '../../../domain/ids.ts';
import { parseInput } from '../../../domain/parse.ts';
import type { Waiting } from '../../../domain/turn.ts';
import type { AccessOptions } from '../access.ts';
import type { ProtocolRoute } from '../app-options.ts';
import { EVENT_STREAM } from '../event-stream.ts';
import { type Backend, type BackendOptions, openBackend } from '../front-end/backend.ts';
import { EarlyStops } from '../front-end/early-stops.ts';
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
import { agUiEventSchema } from './event-schema.ts';
import { type AgUiEvent, type AgUiMessage, EventTable } from './events.ts';
import { turnOf } from './message-names.ts';
import { type OnAbort, OpenRuns, stopRun, stopRunRoute } from './open-runs.ts';
import { type RunRequest, readRunRequest, runInputSchema } from './run-input.ts';
import { readAllResults } from './run-messages.ts';
import { type RunTurns, takeRun } from './run-turns.ts';
import { readThread, writeMessage } from './thread-messages.ts';

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
  const door = { stops: new EarlyStops(), ...(onAbort === 'cancel' && { runs: new OpenRuns() }) };
  app.post('/v1/ag-ui', async (context) => await answerRun(context, options, door));
  app.post('/v1/ag-ui/connect', async (context) => {
    const backend = await openBackend(options, context);
    const thread = new ThreadStream(backend, readConnecting(await readBody(context)));
    return await streamFrames(context, (left) => thread.write(left), {
      writeFailure: ({ code, message }) => thread.fail(code, message),
    });
  });
  app.post('/v1/ag-ui/stop', async (context) => {
    const backend = await openBackend(options, context);
    const stopping = { body: await readBody(context), stops: door.stops, left: leavingOf(context) };
    return context.json(await stopRun(backend, stopping));
  });
  app.post('/v1/ag-ui/:agent', async (context) => {
    const agent = parseInput(idSchema, context.req.param('agent'), 'agent');
    return await answerRun(context, { ...options, agent, isNamed: true }, door);
  });
  return app;
}

interface Door {
  readonly stops: EarlyStops;
  /** Absent: runs whose clients have left go on. */
  readonly runs?: OpenRuns;
}

interface RunOptions extends BackendOptions {
  /** True if the request names the agent (false). */
  readonly isNamed?: boolean;
}

async function answerRun(context: Context, options: RunOptions, { stops, runs }: Door): Promise<Response> {
  const backend = await openBackend(options, context);
  const request = readRunRequest(await readBody(context));
  const { threadId, runId } = request;
  const { readers, onError } = serverFactsOf(context);
  readers.checkPlace();
  const taking = takeRun(backend, request, options.isNamed);
  const run = new RunStream(backend, request, taking);
  const name = [backend.tenant, threadId, runId] as const;
  const stop = async (): Promise<void> => {
    // A run that is being accepted would begin behind a stop that did not find it.
    const [{ status }] = await Promise.allSettled([taking]);
    if (status === 'rejected') return;
    try {
      await stopRun(backend, { body: { threadId, runId }, stops, left: readers.closing });
    } catch (error) {
      // The client left before its run was accepted, or the thread was erased. The stream of the run reports both.
      if (!isTurnfoldError(error, 'not_found')) throw error;
    }
  };
  const isOver = (): boolean => run.isDone || readers.closing.aborted;
  const leave = runs?.enter({ name, aborted: context.req.raw.signal, isOver, stop, onError });
  const write = async function* writeRun(left: AbortSignal): AsyncGenerator<string> {
    try {
      yield* run.write(left);
    } finally {
      leave?.();
    }
  };
  try {
    // The turn exists once the front-end has the status. AG-UI reports a refusal as an event of the stream.
    await Promise.allSettled([taking]);
    if (await stops.take(name)) await stop();
    return await streamFrames(context, write, { writeFailure: ({ code, message }) => run.fail(code, message) });
  } catch (error) {
    leave?.();
    throw error;
  }
}

/** Streams the events of one run: of the turn that it answers, and of its own turn. */
class RunStream {
  readonly #backend: Backend;
  readonly #request: RunRequest;
  readonly #taking: Promise<RunTurns>;
  #table: EventTable;
  #unseen: RunTurns['unseen'];

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
    const { answered, hasOwn, unseen } = await this.#taking;
    if (answered !== undefined) {
      this.#table = this.#openTable(answered.turn, messages, answered.calls);
      yield* this.#follow(answered.turn, left, hasOwn);
      if (this.#table.isDone) return;
    }
    this.#table = this.#openTable(runId, this.#table.messages);
    this.#unseen = unseen;
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
      if (this.#unseen !== undefined && part.type !== 'behind') yield this.#write(await this.#showUnseen(this.#unseen));
      yield this.#write(this.#table.add(part));
      if (this.#table.isDone) return;
    }
  }

  /** Sends the messages that other front-ends have added since the last answer that this front-end has. */
  async #showUnseen({ seen, own }: NonNullable<RunTurns['unseen']>): Promise<AgUiEvent[]> {
    const { threadId, runId, messages: had } = this.#request;
    this.#unseen = undefined;
    const thread = await readThread(this.#backend, threadId);
    const begin = thread.findIndex(({ turn }) => turn === runId);
    const before = begin === -1 ? thread : thread.slice(0, begin);
    const last = before.findLastIndex(({ turn }) => turn === seen);
    const known = last === -1 ? [] : had.slice(0, had.findLastIndex(({ id }) => turnOf(id) === seen) + 1);
    const messages = [...known, ...before.slice(last + 1).flatMap(writeMessage), ...own];
    this.#table = this.#openTable(runId, messages);
    return [{ type: 'MESSAGES_SNAPSHOT', messages }];
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

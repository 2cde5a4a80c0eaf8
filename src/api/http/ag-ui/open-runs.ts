import { z } from 'zod';
import { fieldError } from '../../../domain/errors.ts';
import { idSchema } from '../../../domain/ids.ts';
import { parseInput } from '../../../domain/parse.ts';
import { isSettled, TURN_STATES, type TurnState, type TurnView } from '../../../domain/turn.ts';
import type { ProtocolRoute } from '../app-options.ts';
import type { Backend } from '../front-end/backend.ts';
import type { EarlyStops } from '../front-end/early-stops.ts';
import { readIfAny, readLogTail, readOpenTurns, readTurn } from '../front-end/reads.ts';
import { turnOf } from './message-names.ts';

export const ON_ABORT = ['cancel', 'continue'] as const;
/**
 * `cancel`: a client that aborts its request stops the run, as a stop button of CopilotKit and assistant-ui does.
 * `continue`: the turn goes on, and only the route for a stop ends it.
 */
export type OnAbort = (typeof ON_ABORT)[number];

interface OpenRun {
  /** Tenant, thread and run. */
  readonly name: readonly string[];
  /** Signal of the request. */
  readonly aborted: AbortSignal;
  /** True if the run needs no stop, because it has ended, or the server ends it. */
  readonly isOver: () => boolean;
  readonly stop: () => Promise<unknown>;
  readonly onError: (error: unknown) => void;
}

/** Stops runs whose clients have left. A run that a second connection also shows goes on. */
export class OpenRuns {
  readonly #connections = new Map<string, number>();

  /** @returns a function to call at the end of the stream */
  enter({ name, aborted, isOver, stop, onError }: OpenRun): () => void {
    const key = JSON.stringify(name);
    this.#connections.set(key, (this.#connections.get(key) ?? 0) + 1);
    let isOpen = true;
    const leave = (): void => {
      if (!isOpen) return;
      isOpen = false;
      const others = (this.#connections.get(key) ?? 1) - 1;
      if (others > 0) this.#connections.set(key, others);
      else this.#connections.delete(key);
    };
    const stopAlone = (): void => {
      leave();
      if (this.#connections.has(key) || isOver()) return;
      stop().catch(onError);
    };
    if (aborted.aborted) stopAlone();
    else aborted.addEventListener('abort', stopAlone, { once: true });
    return leave;
  }
}

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
export const stopRunRoute: ProtocolRoute = {
  operation: 'stopRun',
  method: 'post',
  path: '/v1/ag-ui/stop',
  scopes: ['enqueue'],
  summary: 'Cancel the turn of a run of AG-UI. A turn that has ended stays as it is, and the answer has its state.',
  body: stopSchema,
  errors: ['not_found'],
  results: { 'application/json': z.looseObject({ turn: idSchema, state: z.enum(TURN_STATES) }) },
};

/** A stop looks for the turn of an ended run among so many of the last log entries. */
const LOG_TAIL = 50;

interface Stopping {
  readonly body: unknown;
  readonly stops: EarlyStops;
  readonly left: AbortSignal;
}

/** Cancels the turn of a run together with the messages that its runs brought for it. @throws not_found */
export async function stopRun(
  backend: Backend,
  { body, stops, left }: Stopping,
): Promise<{ readonly turn: string; readonly state: TurnState }> {
  const { client, nameOf, tenant } = backend;
  const { threadId, runId, messageId = '' } = parseInput(stopSchema, body);
  const name = runId ?? parseInput(idSchema, turnOf(messageId), 'messageId');
  const stopping = { checkAccess: () => backend.checkAccess(threadId), left };
  const run = await stops.find([[tenant, threadId, name]], () => findRun(backend, threadId, name), stopping);
  if (run === undefined) {
    const field = runId === undefined ? 'messageId' : 'runId';
    const why = `the thread has no run ${name}, or its turn is no longer kept. A run with this id that comes within a minute ends at once`;
    throw fieldError('not_found', field, why);
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

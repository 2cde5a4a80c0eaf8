import { z } from 'zod';
import { fieldError } from '../../../domain/errors.ts';
import { idSchema } from '../../../domain/ids.ts';
import { parseInput } from '../../../domain/parse.ts';
import { isSettled, TURN_STATES, type TurnState, type TurnView } from '../../../domain/turn.ts';
import type { ProtocolRoute } from '../app-options.ts';
import type { Backend } from '../front-end/backend.ts';
import { awaitArrival, readIfAny, readOpenTurns, readTurn } from '../front-end/reads.ts';
import { turnOf } from './message-names.ts';

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

/** AG-UI names no route for a stop: a client that aborts a run ends only its own connection. */
export const stopRunRoute: ProtocolRoute = {
  operation: 'stopRun',
  method: 'post',
  path: '/v1/ag-ui/stop',
  scopes: ['enqueue'],
  summary: 'Cancel the turn of a run of AG-UI. A turn that has ended stays as it is, and the answer has its state.',
  body: stopSchema,
  results: { 'application/json': z.looseObject({ turn: idSchema, state: z.enum(TURN_STATES) }) },
};

/** The last log entries among whose turns the one of an ended run is looked for. */
const LOG_TAIL = 50;

/**
 * Cancels what a run does: its own turn, and the turn that it resumed. A turn that has ended stays as it is.
 * @throws invalid_input without a name, not_found for an unknown one
 */
export async function stopRun(
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
  // Messages of runs that resumed the turn stand behind it. They go first, so that none of them begins.
  const others = (resumed.requests ?? []).filter((turn) => turn !== named.turn && turn !== resumed.turn);
  const behind = isSettled(resumed.state) ? [] : others.toReversed();
  for (const turn of behind) await readIfAny(client.cancel(nameOf(threadId), turn));
  const state = await client.cancel(nameOf(threadId), named.turn);
  if (!isSettled(resumed.state) && resumed.turn !== named.turn) await client.cancel(nameOf(threadId), resumed.turn);
  return { turn: named.turn, state };
}

interface Run {
  /** The turn of the run, or the one that it resumed if it has none. */
  readonly named: TurnView;
  /** The turn that the run resumed, or its own. */
  readonly resumed: TurnView;
}

async function findRun(backend: Backend, threadId: string, run: string): Promise<Run | undefined> {
  const own = await readTurn(backend, threadId, run);
  const open = await readOpenTurns(backend, threadId, { limit: 1 });
  const resumed =
    (await findResumed(
      backend,
      threadId,
      run,
      open?.turns.map(({ turn }) => turn),
    )) ??
    own ??
    (await findResumed(backend, threadId, run, await listLoggedTurns(backend, threadId)));
  return resumed && { named: own ?? resumed, resumed };
}

/** Finds the turn whose calls a run answered. */
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

/** Lists the turns at the end of the log, the newest first. */
async function listLoggedTurns({ client, nameOf }: Backend, threadId: string): Promise<string[]> {
  const { head } = (await readIfAny(client.describe(nameOf(threadId)))) ?? { head: 0 };
  const log = head === 0 ? [] : await client.log(nameOf(threadId), { after: Math.max(0, head - LOG_TAIL) });
  return [...new Set(log.toReversed().flatMap(({ turn = '' }) => (turn === '' ? [] : [turn])))];
}

import { type McpServer, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { TurnView } from '../../api/client/index.ts';
import { isTurnfoldError } from '../../domain/errors.ts';
import { isAnswerKind } from '../../domain/turn.ts';
import { askForCalls, readDecisions } from './call-decisions.ts';
import { TASKS } from './client-abilities.ts';
import type { ServedAgents } from './reading-tools.ts';
import { readServedTurn } from './served-turns.ts';
import { describeEnd } from './turn-answer.ts';
import { type NamedTurn, readTaskId, writeTaskId } from './turn-progress.ts';

const POLL_MS = 1_000;

type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';

export interface TurnTask {
  readonly resultType: 'task' | 'complete';
  readonly taskId: string;
  readonly status: TaskStatus;
  readonly statusMessage: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  /** Null: turnfold keeps a turn as long as its conversation. */
  readonly ttlMs: null;
  readonly pollIntervalMs: number;
  readonly [field: string]: unknown;
}

export function writeTask(named: NamedTurn, view: TurnView, resultType: TurnTask['resultType'] = 'task'): TurnTask {
  const { state, acceptedAt, settledAt } = view;
  return {
    resultType,
    taskId: writeTaskId(named),
    status: statusOf(view),
    statusMessage: `the turn is ${state}`,
    createdAt: new Date(acceptedAt).toISOString(),
    lastUpdatedAt: new Date(settledAt ?? acceptedAt).toISOString(),
    ttlMs: null,
    pollIntervalMs: POLL_MS,
  };
}

function statusOf({ state, waiting }: TurnView): TaskStatus {
  switch (state) {
    case 'completed':
      return 'completed';
    case 'failed':
      return 'failed';
    case 'canceled':
      return 'cancelled';
    default:
      return waiting !== undefined && isAnswerKind(waiting.for) ? 'input_required' : 'working';
  }
}

const taskParams = z.looseObject({ taskId: z.string() });

/** Serves tasks of the client, which are turns: any turn of the served agents can be read as a task. */
export function registerTasks({ server }: McpServer, served: ServedAgents): void {
  const { client, nameOf } = served;
  server.registerCapabilities({ extensions: { [TASKS]: {} } });
  server.setRequestHandler('tasks/get', { params: taskParams }, ({ taskId }) =>
    answerFor(taskId, async (named) => {
      const view = await readServedTurn(served, named);
      const task = writeTask(named, view, 'complete');
      // A failed turn is a result with `isError`. `error` is for calls that the server could not carry out.
      if (view.state === 'completed') return { ...task, result: describeEnd(named, view) };
      if (view.state === 'failed') return { ...task, status: 'completed', result: describeEnd(named, view) };
      return task.status === 'input_required' ? { ...task, inputRequests: askForCalls(view) } : task;
    }),
  );
  server.setRequestHandler('tasks/update', { params: taskParams }, ({ taskId }, { mcpReq: request }) =>
    answerFor(taskId, async (named) => {
      const answers = readDecisions(await readServedTurn(served, named), request.inputResponses);
      if (Object.keys(answers).length > 0) await client.answer(nameOf(named.conversation), named.turn, answers);
      return {};
    }),
  );
  server.setRequestHandler('tasks/cancel', { params: taskParams }, ({ taskId }) =>
    answerFor(taskId, async (named) => {
      await readServedTurn(served, named);
      await client.cancel(nameOf(named.conversation), named.turn);
      return {};
    }),
  );
}

async function answerFor<Answer>(taskId: string, answer: (named: NamedTurn) => Promise<Answer>): Promise<Answer> {
  const named = readTaskId(taskId);
  if (named === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `there is no task "${taskId}"`);
  try {
    return await answer(named);
  } catch (error) {
    if (!isTurnfoldError(error)) throw error;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `${error.code}: ${error.message}`);
  }
}

import { isTurnfoldError, TurnfoldError } from '../../domain/errors.ts';
import { parseInput } from '../../domain/parse.ts';
import type { EnqueueAnswer, EnqueuedTurn, EnqueueInput } from '../client/index.ts';
import { turnListSchema } from '../contract/enqueue-input.ts';
import { readProblem } from './problem-error.ts';
import { newId, readFields, writeBody } from './requests.ts';
import { nameWrite, type Transport } from './transport.ts';
import { encodeParts } from './turns.ts';

interface SentTurn {
  readonly id: unknown;
  readonly isNamed: boolean;
  readonly json: string;
}

type TurnAnswer = Omit<EnqueuedTurn, 'tenant'> | { readonly problem: { readonly status: number } };

/**
 * Sends all turns in one request. If the request fails, each turn is refused with its error. After `server_unavailable`
 * and `redis_unavailable`, the server may have accepted some of them.
 */
export async function enqueueTurns(transport: Transport, inputs: readonly EnqueueInput[]): Promise<EnqueueAnswer[]> {
  const list = (parseInput(turnListSchema, inputs, 'turns') as EnqueueInput[]).map(writeTurn); // the server checks each turn
  const sent = list.filter((turn): turn is SentTurn => 'json' in turn);
  const answers = (sent.length === 0 ? [] : await send(transport, sent)).values();
  return list.flatMap((turn) => ('json' in turn ? (answers.next().value ?? []) : turn));
}

/** Writes a turn as JSON. If the turn is invalid, returns the answer that refuses it. */
function writeTurn(input: EnqueueInput): SentTurn | EnqueueAnswer {
  try {
    const { turn: named, ...given } = readFields(input);
    const id = named ?? newId();
    return { id, isNamed: named !== undefined, json: writeBody({ ...encodeParts(given), turn: id }) };
  } catch (error) {
    if (isTurnfoldError(error)) return { status: 'refused', error };
    throw error;
  }
}

async function send(transport: Transport, sent: readonly SentTurn[]): Promise<EnqueueAnswer[]> {
  const body = `{"turns":[${sent.map(({ json }) => json).join(',')}]}`;
  try {
    const answer = await transport.send<{ turns: TurnAnswer[] }>({
      method: 'POST',
      path: ['turns'],
      body,
      tenant: undefined,
    });
    const { turns } = answer.body;
    if (turns?.length !== sent.length)
      throw new TurnfoldError(
        'server_unavailable',
        `the server answered ${turns?.length ?? 0} of ${sent.length} turns`,
      );
    return turns.map((turn, at) => readAnswer(turn, answer.tenant, sent[at]?.isNamed === true));
  } catch (error) {
    if (!isTurnfoldError(error)) throw error;
    return sent.map(({ id }) => ({ status: 'refused', error: nameTurn(error, id) }));
  }
}

function readAnswer(answer: TurnAnswer, tenant: string, isNamed: boolean): EnqueueAnswer {
  if ('problem' in answer) return { status: 'refused', error: readProblem(answer.problem.status, answer.problem) };
  // A generated turn id is known only to this call. So if the server knows the turn, an earlier attempt stored it.
  return { status: 'enqueued', tenant, ...answer, ...(!isNamed && { isNew: true }) };
}

/** Errors after which the server may still have accepted the turns. */
const UNSURE: ReadonlySet<string> = new Set(['server_unavailable', 'redis_unavailable']);

function nameTurn(error: TurnfoldError, id: unknown): TurnfoldError {
  return typeof id === 'string' && UNSURE.has(error.code) ? nameWrite(error, { field: 'turn', id }) : error;
}

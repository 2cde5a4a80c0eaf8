import { fieldError } from '../../../domain/errors.ts';
import { seqOfCallId } from '../../../domain/ids.ts';
import type { TurnView } from '../../../domain/turn.ts';
import type { CallAnswer } from '../../client/index.ts';
import type { Backend } from '../front-end/backend.ts';
import { readIfAny, readOpenTurns, readTurn } from '../front-end/reads.ts';
import type { CreateRequest } from './create-request.ts';

/** Answers to the calls of a turn. */
export interface Answered {
  readonly conversation: string;
  readonly view: TurnView;
  readonly answers: Readonly<Record<string, CallAnswer>>;
}

/**
 * Finds the turn whose calls a request answers: the one that waits for one of them, or the one that made a new one. The latter
 * has the answer of an earlier request, so that a repeated request changes nothing. Outputs of other calls are a part of the
 * history.
 * @throws conflict if the request ends with answers, and no turn has made their calls
 */
export async function findAnswered(backend: Backend, request: CreateRequest): Promise<Answered | undefined> {
  const { answers, newCalls, endsWithAnswers } = request;
  const conversation = request.previous?.conversation ?? request.conversation;
  if (conversation === undefined || Object.keys(answers).length === 0) return undefined;
  const take = (view: TurnView, taken: ReadonlySet<string>): Answered => {
    const kept = Object.fromEntries(Object.entries(answers).filter(([id]) => taken.has(id)));
    return { conversation, view, answers: kept };
  };
  const [first] = (await readOpenTurns(backend, conversation, { limit: 1 }))?.turns ?? [];
  const waiting = first?.waiting?.calls ?? [];
  const isOpen = waiting.some(({ id, decision }) => decision === undefined && Object.hasOwn(answers, id));
  const head = isOpen && first !== undefined ? await readTurn(backend, conversation, first.turn) : undefined;
  if (head !== undefined) return take(head, newCalls.union(new Set(waiting.map(({ id }) => id))));
  const [call = ''] = [...newCalls].slice(-1);
  const caller = await findCaller(backend, conversation, call);
  if (caller !== undefined) return take(caller, newCalls);
  if (!endsWithAnswers) return undefined;
  throw fieldError('conflict', 'input', `the conversation does not wait for ${[...newCalls].join(', ')}`);
}

/** Finds the turn that made a call. The id of the call has the place of its message in the log. */
async function findCaller(backend: Backend, conversation: string, call: string): Promise<TurnView | undefined> {
  const seq = seqOfCallId(call);
  if (!Number.isSafeInteger(seq) || seq < 1) return undefined;
  const { client, nameOf } = backend;
  const [entry] = (await readIfAny(client.log(nameOf(conversation), { after: seq - 1, limit: 1 }))) ?? [];
  const isCaller = entry?.message.toolCalls?.some(({ id }) => id === call) === true;
  return isCaller && entry.turn !== undefined ? await readTurn(backend, conversation, entry.turn) : undefined;
}

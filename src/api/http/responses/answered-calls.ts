import { fieldError } from '../../../domain/errors.ts';
import { seqOfCallId } from '../../../domain/ids.ts';
import type { CallAnswer, TurnView } from '../../client/index.ts';
import type { Backend } from '../front-end/backend.ts';
import { readIfAny, readOpenTurns, readTurn } from '../front-end/reads.ts';
import { isAnswer, type PlacedItem, type RequestContent } from './create-request.ts';

/** A turn with the answers to its calls. */
export interface Answered {
  readonly conversation: string;
  readonly view: TurnView;
  readonly answers: Readonly<Record<string, CallAnswer>>;
}

export async function storeAnswers(
  { client, nameOf }: Backend,
  { conversation, view, answers }: Answered,
): Promise<void> {
  await client.answer(nameOf(conversation), view.turn, answers);
}

function isOfAgent({ item }: PlacedItem): boolean {
  return item.type === 'message' ? item.role === 'assistant' : !isAnswer(item);
}

/** Refuses system messages behind the agent's last item, because none can follow open calls. */
export function checkEcho(history: readonly PlacedItem[]): void {
  const first = history.findLastIndex(isOfAgent) + 1;
  const other = history.slice(first).find(({ item }) => item.type === 'message' && item.role !== 'user');
  if (other === undefined) return;
  const why = 'a request that answers calls may add messages of the user only';
  throw fieldError('invalid_input', other.at, why);
}

/**
 * Finds the turn that waits for one of the calls. If none does, an earlier request answered them, and this function finds
 * the turn that made one of the new calls. Outputs of other calls belong to the history.
 */
export async function findAnswered(
  backend: Backend,
  conversation: string,
  { answers, newCalls, endsWithAnswers }: Pick<RequestContent, 'answers' | 'newCalls' | 'endsWithAnswers'>,
): Promise<Answered | undefined> {
  if (Object.keys(answers).length === 0) return undefined;
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
  const why = `the conversation waits for no answer to these calls: ${[...newCalls].join(', ')}`;
  throw fieldError('conflict', 'input', why);
}

/** The id of a call has the position of its message in the log. */
async function findCaller(backend: Backend, conversation: string, call: string): Promise<TurnView | undefined> {
  const seq = seqOfCallId(call);
  if (!Number.isSafeInteger(seq) || seq < 1) return undefined;
  const { client, nameOf } = backend;
  const [entry] = (await readIfAny(client.log(nameOf(conversation), { after: seq - 1, limit: 1 }))) ?? [];
  const isCaller = entry?.message.toolCalls?.some(({ id }) => id === call) === true;
  return isCaller && entry.turn !== undefined ? await readTurn(backend, conversation, entry.turn) : undefined;
}

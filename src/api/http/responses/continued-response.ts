import { fieldError, TurnfoldError } from '../../../domain/errors.ts';
import { omitRolledBack } from '../../../domain/rolled-back.ts';
import { isSettled, type TurnView } from '../../../domain/turn.ts';
import type { Backend } from '../front-end/backend.ts';
import { readTurn } from '../front-end/reads.ts';
import type { ResponseName } from './response-names.ts';

const FIELD = 'previous_response_id';

export type Previous = TurnView & { readonly conversation: string };

export async function readPrevious(backend: Backend, { conversation, turn }: ResponseName): Promise<Previous> {
  const view = await readTurn(backend, conversation, turn);
  if (view !== undefined) return { ...view, conversation };
  throw fieldError('not_found', FIELD, 'no response has this id, or it is no longer kept');
}

/**
 * Returns the conversation for a new turn behind a response. Behind an older response than the newest, it is a fork.
 * @param key id of the new turn, which also names the fork, so that a repeated request finds both
 */
export async function continueResponse(backend: Backend, previous: Previous, key: string): Promise<string> {
  const { client, nameOf } = backend;
  const { conversation, turn, state, inputSeq } = previous;
  const fork = nameConversationOf(key);
  if ((await readTurn(backend, conversation, key)) !== undefined) return conversation;
  const { turns } = await client.openTurns(nameOf(conversation), { limit: 1_000 });
  const last = turns.at(-1);
  if (!isSettled(state)) {
    if (last?.turn === turn) return conversation;
    const why = 'the response has not ended, and others wait behind it. Continue once it has ended';
    throw new TurnfoldError('conversation_busy', why, { field: FIELD });
  }
  if (inputSeq === undefined) throw fieldError('conflict', FIELD, 'the response was canceled before it began');
  const log = await client.log(nameOf(conversation), { after: inputSeq - 1 });
  const head = log.findLast((entry) => entry.turn === turn)?.seq ?? inputSeq;
  const shown = omitRolledBack(log, await client.versions(nameOf(conversation)));
  if (!shown.some(({ seq }) => seq === head)) {
    throw fieldError('conflict', FIELD, 'a rollback took the response out of its conversation. Continue another one');
  }
  if (last === undefined && !shown.some(({ seq }) => seq > head)) return conversation;
  await client.fork(nameOf(conversation), nameOf(fork), { head, operation: `fork.${key}` });
  return fork;
}

export function nameConversationOf(key: string): string {
  return `conv_${key}`;
}

import { isTurnfoldError } from '../../../domain/errors.ts';
import { isAnswerKind, type Waiting } from '../../../domain/turn.ts';
import type { CallAnswer } from '../../client/index.ts';
import type { Backend } from '../front-end/backend.ts';
import { undecided } from '../front-end/call-names.ts';
import { readOpenTurns } from '../front-end/reads.ts';
import { HttpProblem } from '../problem.ts';
import { describeWait } from './open-chat-turns.ts';

export const WHILE_WAITING = ['refuse', 'deny', 'steer', 'enqueue'] as const;
/**
 * Treatment of a message that a user sends while calls wait for answers. `refuse`: the message gets 409 `waiting`, and the
 * page keeps its text. `deny`: the calls are denied, and the message is the next turn. `steer`: the message joins the turn
 * once the calls have answers. `enqueue`: the message is the next turn once the calls have answers.
 */
export type WhileWaiting = (typeof WHILE_WAITING)[number];

const DENIED = 'the user sent another message instead of a decision';
const NO_RESULT = 'No result: the user sent another message instead.';

/**
 * Does what the setting says if the chat waits for answers. Decisions of the same request were stored before.
 * @param field member of the request that has the message
 * @returns `steer` if the message joins the waiting turn
 * @throws the problem `waiting`
 */
export async function meetWait(
  backend: Backend,
  id: string,
  whileWaiting: WhileWaiting,
  field: 'message' | 'messages' = 'messages',
): Promise<'steer' | 'enqueue'> {
  const [first] = (await readOpenTurns(backend, id, { limit: 1 }))?.turns ?? [];
  const { turn = '', waiting } = first ?? {};
  if (waiting === undefined || !isAnswerKind(waiting.for)) return 'enqueue';
  switch (whileWaiting) {
    case 'refuse': {
      const why = `the answer before waits for ${waiting.for === 'approval' ? 'a decision' : 'the result of a call'}. Answer its calls, and send the message again`;
      throw new HttpProblem('waiting', why, { field, details: { turn, ...describeWait(waiting) } });
    }
    case 'deny':
      await denyCalls(backend, id, { turn, waiting });
      return 'enqueue';
    default:
      return whileWaiting;
  }
}

async function denyCalls(
  { client, nameOf }: Backend,
  id: string,
  { turn, waiting }: { readonly turn: string; readonly waiting: Waiting },
): Promise<void> {
  const answers = undecided(waiting.calls).map(({ id: call, hash }): [string, CallAnswer] => {
    const denial =
      waiting.for === 'approval' ? { approved: false, why: DENIED } : { content: NO_RESULT, isError: true };
    return [call, { ...denial, hash }];
  });
  await client.answer(nameOf(id), turn, Object.fromEntries(answers)).catch((error: unknown) => {
    // A person has decided at the same moment. That decision counts.
    if (!isTurnfoldError(error, 'conflict')) throw error;
  });
}

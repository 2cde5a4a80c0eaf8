import { fieldError } from '../../../domain/errors.ts';
import { isAnswerKind, type TurnView } from '../../../domain/turn.ts';
import type { CallAnswer, OpenTurns } from '../../client/index.ts';
import type { Backend } from '../front-end/backend.ts';
import { type RunRequest, readTurnName } from './run-input.ts';
import { findResults, nameResult, readAllResults, readResult } from './run-messages.ts';

/** Answers to the calls of a turn. */
export interface Answering {
  readonly view: TurnView;
  readonly answers: Readonly<Record<string, CallAnswer>>;
}

interface Thread {
  readonly open: OpenTurns | undefined;
  /** True if the turn of the run exists. */
  readonly isRepeated: boolean;
}

/**
 * Finds the answers that a run brings, and the turn that they belong to.
 * @throws conversation_busy if a new run answers none of the open calls
 */
export async function findAnswers(
  { client, nameOf }: Backend,
  { threadId, runId, messages, resume }: RunRequest,
  { open, isRepeated }: Thread,
): Promise<Answering | undefined> {
  if (resume !== undefined) {
    const view = await client.result(nameOf(threadId), resume.turn);
    checkAllAnswered(view, resume.answers);
    return { view, answers: resume.answers };
  }
  const results = findResults(messages);
  if (results !== undefined) {
    const view = await client.result(nameOf(threadId), readTurnName(results.caller, 'messages'));
    const waiting = view.waiting?.calls ?? [];
    const missing = waiting.filter(({ id, decision }) => decision === undefined && !results.calls.includes(id));
    const calls = [...results.calls, ...missing.map(({ id }) => id)];
    const answers = calls.flatMap((id) => {
      const answer = readResult(messages, id);
      const call = waiting.find((one) => one.id === id);
      return answer === undefined ? [] : [[id, call === undefined ? answer : nameResult(messages, call, answer)]];
    });
    return { view, answers: Object.fromEntries(answers) as Answering['answers'] };
  }
  const [first] = open?.turns ?? [];
  if (first?.waiting === undefined || !isAnswerKind(first.waiting.for) || first.turn === runId) return undefined;
  const answers = first.waiting.for === 'tools' ? readAllResults(messages, first.waiting.calls) : undefined;
  if (answers !== undefined) return { view: await client.result(nameOf(threadId), first.turn), answers };
  // The message of a repeated run was accepted before these calls were open.
  if (isRepeated) return undefined;
  const calls = first.waiting.calls.filter(({ decision }) => decision === undefined).map(({ id }) => id);
  const why = `the turn ${first.turn} of the thread waits for answers to ${calls.join(', ')}. Answer them first`;
  throw fieldError('conversation_busy', 'threadId', why);
}

/**
 * A resume answers every open interrupt, or none. A repeated resume answers none, because the turn may wait for the next ones.
 * @throws conflict
 */
function checkAllAnswered({ waiting }: TurnView, answers: Answering['answers']): void {
  if (waiting?.for !== 'approval') return;
  const open = waiting.calls.filter(({ decision }) => decision === undefined);
  const missing = open.filter(({ id }) => !Object.hasOwn(answers, id));
  if (missing.length === 0 || missing.length === open.length) return;
  const ids = missing.map(({ id }) => id).join(', ');
  throw fieldError('conflict', 'resume', `the thread also waits for answers to ${ids}. Answer all interrupts at once`);
}

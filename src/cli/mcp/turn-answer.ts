import type { CallToolResult } from '@modelcontextprotocol/server';
import type { TurnView } from '../../api/client/index.ts';
import { isAnswerKind, isSettled, type WaitingCall } from '../../domain/turn.ts';
import { MOST_CHARACTERS, writeTextResult } from './answers.ts';
import { clipMiddle, fitJson } from './fit-json.ts';
import type { NamedTurn } from './turn-progress.ts';

/** The state of a turn for a model, with its parts for programs. */
export function describeEnd({ conversation, turn }: NamedTurn, view: TurnView): CallToolResult {
  const { state, answer, failure, waiting, stopped } = view;
  const structured = {
    conversation,
    turn,
    state,
    ...(answer && {
      answer: clipMiddle(answer.content, MOST_CHARACTERS / 2),
      seq: answer.seq,
      ...(answer.value !== undefined && { value: answer.value }),
      ...(answer.end !== undefined && { end: answer.end }),
    }),
    ...(stopped && { stopped: clipMiddle(stopped.content, MOST_CHARACTERS / 2), seq: stopped.seq }),
    ...(failure && { failure: { code: failure.code, message: failure.message } }),
    ...(waiting && { waiting: { for: waiting.for, until: waiting.until, calls: waiting.calls.map(showCall) } }),
  };
  return {
    ...writeTextResult(describeState(view, { conversation, turn })),
    structuredContent: JSON.parse(fitJson(structured, MOST_CHARACTERS)) as Record<string, unknown>,
    ...(state === 'failed' && { isError: true }),
  };
}

function showCall({ id, name, arguments: given, hash, until, decision }: WaitingCall): object {
  return { id, name, arguments: given, hash, until, decision };
}

function describeState(view: TurnView, { conversation, turn }: NamedTurn): string {
  const { state, answer, failure, waiting, stopped } = view;
  if (answer !== undefined) return answer.content;
  if (failure !== undefined) return `The turn failed. ${failure.code}: ${failure.message}`;
  if (stopped !== undefined) return `The turn was canceled. Its model had written:\n${stopped.content}`;
  if (isSettled(state)) return `The turn is ${state}.`;
  const place = `conversation ${conversation}, turn ${turn}`;
  if (waiting === undefined || !isAnswerKind(waiting.for)) {
    return `The turn is ${state} (${place}). Read its answer with the tool \`result\`.`;
  }
  const calls = waiting.calls.map(
    ({ id, name, arguments: given, hash }) => `${id} ${name}(${clipMiddle(given, 4_000)}) hash ${hash ?? 'none'}`,
  );
  return `The turn waits for ${waiting.for} (${place}). Answer with the tool \`answer\`:\n${calls.join('\n')}`;
}

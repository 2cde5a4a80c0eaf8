import type { CallToolResult } from '@modelcontextprotocol/server';
import type { TurnView } from '../../api/client/index.ts';
import { isAnswerKind, isSettled } from '../../domain/turn.ts';
import { writeTextResult } from './answers.ts';
import type { NamedTurn } from './turn-progress.ts';

/** The state of a turn for a model, with its parts for programs. */
export function describeEnd({ conversation, turn }: NamedTurn, view: TurnView): CallToolResult {
  const { state, answer, failure, waiting } = view;
  const structuredContent = {
    conversation,
    turn,
    state,
    ...(answer && { answer: answer.content }),
    ...(failure && { failure: { code: failure.code, message: failure.message } }),
    ...(waiting && { waiting: { for: waiting.for, until: waiting.until, calls: waiting.calls } }),
  };
  return {
    ...writeTextResult(describeState(view, { conversation, turn })),
    structuredContent,
    ...(state === 'failed' && { isError: true }),
  };
}

function describeState({ state, answer, failure, waiting }: TurnView, { conversation, turn }: NamedTurn): string {
  if (answer !== undefined) return answer.content;
  if (failure !== undefined) return `The turn failed. ${failure.code}: ${failure.message}`;
  if (isSettled(state)) return `The turn is ${state}.`;
  const place = `conversation ${conversation}, turn ${turn}`;
  if (waiting === undefined || !isAnswerKind(waiting.for)) {
    return `The turn is ${state} (${place}). Read its answer with the tool \`result\`.`;
  }
  const calls = waiting.calls.map(
    ({ id, name, arguments: given, hash }) => `${id} ${name}(${given}) hash ${hash ?? 'none'}`,
  );
  return `The turn waits for ${waiting.for} (${place}). Answer with the tool \`answer\`:\n${calls.join('\n')}`;
}

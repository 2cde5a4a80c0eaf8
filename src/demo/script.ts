import type { ModelAnswer, ModelRequest } from '../domain/model.ts';

/** A call that the demo's model decides on; the arguments are JSON-encoded when it is made. */
export interface ScriptedCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>> | string;
}

/** One turn: what is asked, the rounds of calls that answer it, and the closing text, made from what the tools really said. */
export interface ScriptedTurn {
  readonly ask: string;
  readonly rounds: readonly (readonly ScriptedCall[])[];
  /** said beside the calls of a round, where there is something to say */
  readonly remarks?: readonly string[];
  readonly answer: (results: readonly string[]) => string;
}

/** Ids of the demo's turns say which one they are: `turn-07`. */
export function turnIdOf(index: number): string {
  return `turn-${String(index + 1).padStart(2, '0')}`;
}

/**
 * Decides as scripted. Which turn and step a request is for stands in its idempotency key, `…/turn/accepted/model-n`: so
 * a retried step gets the same answer, and the size of the context does not matter.
 */
export function decideFrom(turns: readonly ScriptedTurn[]): (request: ModelRequest) => ModelAnswer {
  return ({ idempotencyKey, messages }) => {
    const found = /\/turn-(\d+)\/\d+\/model-(\d+)$/.exec(idempotencyKey);
    const turn = turns[Number(found?.[1]) - 1];
    const step = Number(found?.[2]);
    if (turn === undefined) throw new Error(`no scripted turn for ${idempotencyKey}`);
    const round = turn.rounds[step - 1];
    if (round === undefined) return { content: turn.answer(lastResults(messages)), toolCalls: [] };
    return {
      content: turn.remarks?.[step - 1] ?? '',
      toolCalls: round.map((call, index) => ({
        id: `call_${step}_${index}`,
        name: call.name,
        arguments: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments),
      })),
    };
  };
}

/** Results since the last user message, oldest first. */
function lastResults(messages: ModelRequest['messages']): string[] {
  const start = messages.findLastIndex((message) => message.role === 'user');
  return messages.slice(start + 1).flatMap((message) => (message.role === 'tool' ? [message.content] : []));
}

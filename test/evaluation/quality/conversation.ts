import { Corpus, type Recording } from '../../../bench/context/quality/corpus.ts';
import { findPoint, type QualityPoint } from '../../../bench/context/quality/point.ts';
import type { Message } from '../../../src/domain/message.ts';

export const user = (content: string): Message => ({ role: 'user', content });
export const says = (content: string): Message => ({ role: 'assistant', content });

let calls = 0;

/** An assistant message with one call, and the result of the call. */
export function round(args: Record<string, unknown>, result: string, name = 'read'): Message[] {
  calls += 1;
  const id = `call_${calls}`;
  return [
    { role: 'assistant', content: '', toolCalls: [{ id, name, arguments: JSON.stringify(args) }] },
    { role: 'tool', content: result, toolCallId: id },
  ];
}

/** The point of a conversation that is cut after `before`. The corpus holds this conversation alone. */
export function pointOf(before: readonly Message[], after: readonly Message[]): QualityPoint {
  const recording: Recording = { id: 'one', group: 'made', messages: [...before, ...after] };
  return findPoint(recording, before.length, new Corpus([recording]));
}

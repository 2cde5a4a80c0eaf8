import type { SendOptions, TransportMessage } from './transport-types.ts';

type Sent = Pick<SendOptions, 'messages' | 'messageId' | 'trigger'>;

/**
 * Chooses the messages that the server reads: the one that is sent, the user's messages behind the last answer, and answers
 * whose calls may wait. A whole history with its pictures would soon be larger than a request may be.
 */
export function chooseSent({ messages, messageId, trigger }: Sent): TransportMessage[] {
  const named = messages.findLastIndex(({ id }) => id === messageId);
  const at = named === -1 ? messages.length - 1 : named;
  const isAnswer = messages[at]?.role === 'assistant';
  const front = isAnswer ? messages : messages.slice(0, at);
  const unanswered = front.findLastIndex(({ role }) => role !== 'user') + 1;
  const mayWait = isAnswer && trigger === 'submit-message' ? messages : front;
  return messages.flatMap((message, index) => {
    const { role } = message;
    if (index === at) return [role === 'assistant' ? dropSettled(message) : message];
    if (role === 'user') return index >= unanswered && index < front.length ? [message] : [];
    return role === 'assistant' && index < mayWait.length && mayHaveOpenCalls(message) ? [dropSettled(message)] : [];
  });
}

interface Part {
  readonly type: string;
  readonly toolCallId?: string;
  readonly output?: unknown;
  readonly mediaType?: string;
}

/** Calls wait in the last step that has contents and was not restarted. */
function findLastStep({ parts }: TransportMessage): { readonly from: number; readonly to: number } {
  let to = parts.length;
  for (;;) {
    const from = parts.slice(0, to).findLastIndex(({ type }) => type === 'step-start');
    const types = parts.slice(from + 1, to).map(({ type }) => type);
    const isVoid = types.every((type) => type.startsWith('data-')) || types.includes('data-restart');
    if (!isVoid || from <= 0) return { from: Math.max(0, from), to };
    to = from;
  }
}

function mayHaveOpenCalls(message: TransportMessage): boolean {
  const { from, to } = findLastStep(message);
  return message.parts.slice(from, to).some((part: Part) => part.toolCallId !== undefined);
}

/** Leaves out contents that the server has: files of the answer, and outputs of earlier steps. */
function dropSettled(message: TransportMessage): TransportMessage {
  const { from, to } = findLastStep(message);
  const parts = message.parts.map((part: Part, index) => {
    if (part.type === 'file') return { type: 'file', mediaType: part.mediaType };
    if (part.output === undefined || (index >= from && index < to)) return part;
    const { output: _, ...rest } = part;
    return rest;
  });
  return { ...message, parts };
}

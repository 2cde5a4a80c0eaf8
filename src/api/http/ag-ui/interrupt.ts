import type { WaitingCall } from '../../../domain/turn.ts';
import { nameCall } from '../front-end/call-names.ts';
import { nameMessage } from './message-names.ts';

const DECISION = {
  type: 'object',
  properties: { approved: { type: 'boolean' }, why: { type: 'string' } },
  required: ['approved'],
};

/** Writes a call that waits for approval as an interrupt. */
export function writeInterrupt(turn: string, call: WaitingCall): object {
  const { id, name, arguments: written, input = written, until } = call;
  return {
    id: nameMessage(turn, nameCall(call)),
    reason: 'tool_approval',
    message: `The tool ${name} needs approval.`,
    toolCallId: id,
    metadata: { name, input },
    responseSchema: DECISION,
    expiresAt: new Date(until).toISOString(),
  };
}

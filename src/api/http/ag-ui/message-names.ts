import type { WaitingCall } from '../../../domain/turn.ts';
import { nameWaitingCall } from '../front-end/call-names.ts';

export function nameMessage(turn: string, rest: string): string {
  return `${turn}/${rest}`;
}

export function turnOf(id: string): string {
  return id.slice(0, Math.max(0, id.indexOf('/')));
}

/** Returns the name that `nameWaitingCall` gave to the call of an interrupt. */
export function callOf(interrupt: string): string {
  return interrupt.slice(interrupt.indexOf('/') + 1);
}

const DECISION = {
  type: 'object',
  properties: { approved: { type: 'boolean' }, why: { type: 'string' } },
  required: ['approved'],
};

export function writeInterrupt(turn: string, call: WaitingCall): object {
  const { id, name, arguments: written, input = written, until } = call;
  return {
    id: nameMessage(turn, nameWaitingCall(call)),
    reason: 'tool_approval',
    message: `The tool ${name} needs approval.`,
    toolCallId: id,
    metadata: { name, input },
    responseSchema: DECISION,
    expiresAt: new Date(until).toISOString(),
  };
}

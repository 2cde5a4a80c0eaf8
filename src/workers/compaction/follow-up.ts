import type { ConversationRef } from '../../domain/ids.ts';
import { requestPass } from '../pass-request.ts';
import type { PreparedAgent } from '../prepared-agent.ts';
import { evaluateRequest } from './evaluate.ts';
import type { CompactionPorts } from './ports.ts';

/**
 * Asks for the next pass where messages that came behind `head`, while this one ran, meet a threshold: whoever appended them
 * was joined to this pass, and nobody else looks. A worker that dies right here leaves that to the next message.
 */
export async function requestFollowUp(
  ports: CompactionPorts,
  prepared: PreparedAgent,
  conversation: ConversationRef,
  head: number,
): Promise<void> {
  const state = await ports.contexts.readConversation(conversation);
  if (state === undefined || state.passId !== undefined || state.head <= head) return;
  const reasons = evaluateRequest(prepared, state, []);
  if (reasons.length > 0)
    await requestPass(ports, conversation, { reasons, calibration: prepared.overhead.calibration });
}

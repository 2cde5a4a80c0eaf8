import type { ConversationRef } from '../domain/ids.ts';
import { contextSize, NO_OVERHEAD } from '../domain/size.ts';
import { beingCopied, checkDurability, noConversation } from './client-errors.ts';
import type { ClientPorts } from './ports.ts';

/** Nobody runs a backoff for appended messages: the compaction worker looks, unless the last look says that it need not. */
export async function requestEvaluation(ports: ClientPorts, conversation: ConversationRef): Promise<void> {
  const state = await ports.contexts.readConversation(conversation);
  if (state === undefined) return;
  const { appendsBelowMessageTokens = 0 } = state.backoff;
  if (contextSize(state.size, NO_OVERHEAD).tokens < appendsBelowMessageTokens) return;
  await requestCompaction(ports, conversation, false);
}

/**
 * Asks for a pass. `isManual` states the reason itself; otherwise the compaction worker looks whether a threshold is met.
 * @returns the pass's id
 * @throws not_found, conversation_forking, accepted_unsure: asked again, it joins the pass that it asked for, if that goes on
 */
export async function requestCompaction(
  ports: ClientPorts,
  conversation: ConversationRef,
  isManual: boolean,
): Promise<string> {
  const wake = ports.ids.next();
  const result = await ports.passes.requestPass({
    conversation,
    reasons: isManual ? ['manual'] : [],
    passId: ports.ids.next(),
    wake,
  });
  if (result.status === 'forking') throw beingCopied(conversation, result);
  if (!('passId' in result)) throw noConversation(conversation);
  if (result.needsWake) await ports.wakes.wake('pass', conversation, wake, { askedIn: ports.currentTrace() });
  checkDurability(result, { field: 'conversation', id: conversation.id });
  return result.passId;
}

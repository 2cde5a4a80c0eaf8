import type { ConversationRef } from '../../domain/ids.ts';
import { contextSize, NO_OVERHEAD } from '../../domain/size.ts';
import type { PassRequest } from '../../store/passes.ts';
import { type ConversationName, readConversationName } from '../contract/names.ts';
import { beingCopied, checkDurability, noConversation } from './client-errors.ts';
import type { ClientPorts } from './ports.ts';

/** Ids of a pass that may be created, and of its wake. */
export type NewPass = Pick<PassRequest, 'passId' | 'wake'>;

export function namePass({ ids }: Pick<ClientPorts, 'ids'>): NewPass {
  return { passId: ids.next(), wake: ids.next() };
}

/**
 * Requests a threshold check (does the context need compaction?) after an append. Each check stores the context size at
 * which the next check is due. Below that size, nothing is requested.
 */
export async function requestEvaluation(
  ports: ClientPorts,
  conversation: ConversationRef,
  pass: NewPass,
): Promise<void> {
  const state = await ports.contexts.readConversation(conversation);
  if (state === undefined) return;
  const { appendsBelowMessageTokens = 0 } = state.backoff;
  if (contextSize(state.size, NO_OVERHEAD).tokens < appendsBelowMessageTokens) return;
  await request(ports, { conversation, reasons: [], ...pass });
}

/**
 * Requests a compaction pass that runs whatever the thresholds say. If a pass is open already, no second pass is created.
 * @returns the id of the pass
 * @throws not_found if the conversation does not exist. conversation_forking or fork_abandoned if it is an incomplete
 * fork.
 * @throws accepted_unsure if too few replicas or disks confirmed the write
 */
export async function requestCompaction(ports: ClientPorts, name: ConversationName): Promise<string> {
  const conversation = readConversationName(name);
  return await request(ports, { conversation, reasons: ['manual'], ...namePass(ports) });
}

async function request(ports: ClientPorts, pass: PassRequest): Promise<string> {
  const { conversation, wake } = pass;
  const result = await ports.passes.requestPass(pass);
  if (result.status === 'forking') throw beingCopied(conversation, result);
  if (!('passId' in result)) throw noConversation(conversation);
  if (result.needsWake) await ports.wakes.wake('pass', conversation, wake, { traceParent: ports.currentTrace() });
  checkDurability(result, { field: 'conversation', id: conversation.id });
  return result.passId;
}

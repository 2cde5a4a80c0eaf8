import { fieldError } from '../../../domain/errors.ts';
import { TURN_LIMITS } from '../../../domain/turn.ts';
import { checkMessageBytes } from '../../client/weigh-message.ts';
import type { Backend } from './backend.ts';
import { readIfAny, readOpenTurns } from './reads.ts';

/** Messages that a request is about to add to a conversation. Each is a turn. */
export interface NewMessages {
  readonly conversation: string;
  readonly agent: string;
  readonly texts: readonly string[];
  /** Field of the request that names the conversation. */
  readonly field: string;
  /** Field of the request that has the messages. */
  readonly textField: string;
  /** Field of the request that names the agent, if it has one. */
  readonly agentField?: string;
}

/**
 * Checks what would refuse the messages of a request. A request that also brings decisions calls this first, so that a refused
 * request changes nothing. Other requests may fill the mailbox in between: then the decisions count, and the same request again
 * adds the messages.
 * @throws message_too_large, agent_conflict, mailbox_full
 */
export async function checkMessages(
  backend: Backend,
  { conversation, agent, texts, field, textField, agentField = field }: NewMessages,
): Promise<void> {
  if (texts.length === 0) return;
  for (const content of texts) checkMessageBytes({ role: 'user', content }, textField);
  const [known, open] = await Promise.all([
    readIfAny(backend.client.describe(backend.nameOf(conversation))),
    readOpenTurns(backend, conversation, { limit: 1 }),
  ]);
  if (known !== undefined && known.agent !== agent) {
    throw fieldError('agent_conflict', agentField, `the agent of the conversation is ${known.agent}, not ${agent}`);
  }
  const { mailbox = 0 } = open ?? {};
  if (mailbox + texts.length <= TURN_LIMITS.maxQueuedTurns) return;
  const why = `${mailbox} turns are queued, running or waiting. Send the message once turns have settled`;
  throw fieldError('mailbox_full', field, why);
}

import { adoptMessages } from '../domain/history.ts';
import type { Message, WeighedMessage } from '../domain/message.ts';
import type { PreparedAgent } from '../workers/prepared-agent.ts';

/**
 * A file's messages with a log's call ids, each counted once.
 * @throws orphan_result, duplicate_call where they are no history
 */
export async function weighConversation(
  messages: readonly Message[],
  { weigh }: Pick<PreparedAgent, 'weigh'>,
): Promise<WeighedMessage[]> {
  return await Promise.all(adoptMessages(messages, 1).messages.map(weigh));
}

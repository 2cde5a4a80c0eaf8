import type { Message } from '../domain/message.ts';
import { ModelError, type ModelRequest } from '../domain/model.ts';
import { readRawItems } from '../domain/raw-items.ts';
import { isThinking } from '../wire/kept-items.ts';

/** The provider does not know its own thinking any more: a key of its own has changed, or the history came from elsewhere. */
export class ThinkingRefused extends ModelError {}

/**
 * Asks once more, without any thinking of the history, where the provider refuses what it is sent back of it. Left to the turn,
 * such a refusal would stand at the end of its conversation: there is nothing to roll back where no pass made the version.
 * @throws what the second try was refused with
 */
export async function mendThinking<Request extends ModelRequest, Answer>(
  request: Request,
  ask: (request: Request) => Promise<Answer>,
): Promise<Answer> {
  try {
    return await ask(request);
  } catch (error) {
    if (!(error instanceof ThinkingRefused)) throw error;
    const messages = request.messages.map(withoutThinking);
    if (messages.every((message, index) => message === request.messages[index])) throw error;
    return await ask({ ...request, messages });
  }
}

/** The same message where it holds none. By hand: what was imported has no version that could tell it from another's. */
function withoutThinking(message: Message): Message {
  const raw = readRawItems(message);
  if (raw === undefined || !raw.items.some(isThinking)) return message;
  return { ...message, raw: { ...raw, items: raw.items.filter((item) => !isThinking(item)) } };
}

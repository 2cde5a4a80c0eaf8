import type { Redis } from 'ioredis';
import type { ConversationRef } from '../domain/ids.ts';
import { type TextDelta, type TextListener, type TextPublisher, textDeltaSchema } from '../domain/ports/text-deltas.ts';
import { publish, type Subscriber } from '../redis/subscriber.ts';
import type { Keyspace } from './keys.ts';
import { callStore } from './records.ts';

/**
 * Publishes the text that models write, on the connection of the scripts. So the text arrives before the event of the
 * finished step.
 */
export function openTextPublisher(redis: Redis, keyspace: Keyspace): TextPublisher {
  return {
    async publishText(conversation, delta) {
      await callStore(() => publish(redis, nameChannel(redis, keyspace, conversation), JSON.stringify(delta)));
    },
  };
}

export function openTextListener(redis: Redis, keyspace: Keyspace, subscriber: Subscriber): TextListener {
  return {
    listen(conversation, hear) {
      const name = nameChannel(redis, keyspace, conversation);
      const hearText = (text: string): void => {
        const delta = readDelta(text);
        if (delta !== undefined) hear(delta);
      };
      // The subscription is not awaited. If the subscription fails, only pieces of streamed text are lost.
      subscriber.join(name, hearText).catch(() => undefined);
      return {
        catchUp: () => subscriber.catchUp(name).catch(() => undefined),
        stop: () => subscriber.leave(name, hearText),
      };
    },
  };
}

/**
 * Returns the channel name of a conversation. Channels are shared by all databases of a server, so the name includes
 * the database number.
 */
function nameChannel(redis: Redis, keyspace: Keyspace, conversation: ConversationRef): string {
  return `${keyspace.textChannel(conversation)}:${redis.options.db ?? 0}`;
}

/** Decodes a piece of streamed text. A piece that cannot be decoded is dropped. */
function readDelta(text: string): TextDelta | undefined {
  try {
    return textDeltaSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

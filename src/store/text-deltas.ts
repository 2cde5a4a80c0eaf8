import type { Redis } from 'ioredis';
import type { ConversationRef } from '../domain/ids.ts';
import { type TextDelta, type TextListener, type TextPublisher, textDeltaSchema } from '../domain/ports/text-deltas.ts';
import { publish, type Subscriber } from '../redis/subscriber.ts';
import type { Keyspace } from './keys.ts';
import { callStore } from './records.ts';

/** Publishes on the connection of the scripts, so that text arrives before the event of its record. */
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
      // Not awaited: a failed subscription loses pieces of text, nothing else.
      subscriber.join(name, hearText).catch(() => undefined);
      return {
        catchUp: () => subscriber.catchUp(name).catch(() => undefined),
        stop: () => subscriber.leave(name, hearText),
      };
    },
  };
}

/** Channels span all databases of a server, so the name includes the database. */
function nameChannel(redis: Redis, keyspace: Keyspace, conversation: ConversationRef): string {
  return `${keyspace.textChannel(conversation)}:${redis.options.db ?? 0}`;
}

/** A delta that cannot be read counts as lost. */
function readDelta(text: string): TextDelta | undefined {
  try {
    return textDeltaSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

import { setImmediate } from 'node:timers/promises';
import type { ConversationRef } from '../domain/ids.ts';
import type { TextDelta, TextListener, TextListening, TextPublisher } from '../domain/ports/text-deltas.ts';

type Listener = (delta: TextDelta) => void;

/** The channels of all conversations, in memory. */
export class MemoryTextChannel implements TextPublisher, TextListener {
  readonly #listeners = new Map<string, Set<Listener>>();

  async publishText(conversation: ConversationRef, delta: TextDelta): Promise<void> {
    for (const listener of this.#listenersOf(conversation)) listener(delta);
  }

  listen(conversation: ConversationRef, listener: Listener): TextListening {
    // A new function for each call: a listener that is added twice is called twice.
    const once: Listener = (delta) => listener(delta);
    this.#listenersOf(conversation).add(once);
    return {
      catchUp: () => setImmediate(),
      stop: () => void this.#listenersOf(conversation).delete(once),
    };
  }

  #listenersOf({ tenant, id }: ConversationRef): Set<Listener> {
    const name = `${tenant}/${id}`;
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners);
    return listeners;
  }
}

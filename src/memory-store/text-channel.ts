import { setImmediate } from 'node:timers/promises';
import type { ConversationRef } from '../domain/ids.ts';
import type { TextDelta, TextListener, TextListening, TextPublisher } from '../domain/ports/text-deltas.ts';

type Listener = (delta: TextDelta) => void;

/** Delivers text that models are writing to the listeners of its conversation, in memory. */
export class MemoryTextChannel implements TextPublisher, TextListener {
  readonly #listeners = new Map<string, Set<Listener>>();

  async publishText(conversation: ConversationRef, delta: TextDelta): Promise<void> {
    for (const listener of this.#listenersOf(conversation)) listener(delta);
  }

  listen(conversation: ConversationRef, listener: Listener): TextListening {
    // Wraps the listener in a new function for each call, so that a listener added twice is called twice.
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

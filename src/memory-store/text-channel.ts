import { setImmediate } from 'node:timers/promises';
import type { ConversationRef } from '../domain/ids.ts';
import type { TextDelta, TextListener, TextListening, TextPublisher } from '../domain/ports/text-deltas.ts';

type Hear = (delta: TextDelta) => void;

/** The channels of all conversations, in memory. */
export class MemoryTextChannel implements TextPublisher, TextListener {
  readonly #hearers = new Map<string, Set<Hear>>();

  async publishText(conversation: ConversationRef, delta: TextDelta): Promise<void> {
    for (const hear of this.#hearersOf(conversation)) hear(delta);
  }

  listen(conversation: ConversationRef, hear: Hear): TextListening {
    // A function of its own: who listens twice hears twice.
    const once: Hear = (delta) => hear(delta);
    this.#hearersOf(conversation).add(once);
    return {
      catchUp: () => setImmediate(),
      stop: () => void this.#hearersOf(conversation).delete(once),
    };
  }

  #hearersOf({ tenant, id }: ConversationRef): Set<Hear> {
    const name = `${tenant}/${id}`;
    const hearers = this.#hearers.get(name) ?? new Set();
    this.#hearers.set(name, hearers);
    return hearers;
  }
}

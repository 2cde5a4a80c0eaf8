import type { EventListener } from '../../domain/events.ts';
import { nameConversation } from '../../domain/ids.ts';
import { MAX_MESSAGE_BYTES } from '../../domain/message.ts';
import type { TextDelta, TextPublisher } from '../../domain/ports/text-deltas.ts';
import type { TurnLease } from '../../domain/ports/turn-store.ts';
import type { Timers } from '../timers.ts';

/** ms during which the pieces of text from a model are collected into one published delta. */
export const PUBLISH_EVERY_MS = 50;
/** Once this many characters of a model's text are collected, they are published without a delay. */
export const PUBLISH_CHARACTERS = 4_096;
/** Maximum number of text pieces (deltas) of a turn that Redis has not yet confirmed. Further pieces are dropped. */
export const MAX_IN_FLIGHT = 16;
/** Maximum characters of one published piece of text (delta). A longer piece is split. */
const MAX_CHARACTERS = 64 * 1024;

export interface TextStreamOptions {
  readonly texts: TextPublisher;
  readonly timers: Timers;
  readonly lease: TurnLease;
  /** Number of the model step within the turn, from 1. */
  readonly step: number;
  readonly onEvent: EventListener;
}

/**
 * Publishes a model's text while one call of one step runs. The turn does not wait for the publication, and does not
 * fail with it. The first failed publication is reported and ends the stream.
 */
export class TextStream {
  readonly #options: TextStreamOptions;
  #text = '';
  #published = 0;
  #inFlight = 0;
  #isEnded = false;
  #hasFailed = false;
  #pause: { stop(): void } | undefined;

  constructor(options: TextStreamOptions) {
    this.#options = options;
  }

  /**
   * Adds a piece of the model's text. Never throws. Does nothing after the end of the stream, because a model call that
   * ignores its signal may still send text.
   */
  add(piece: string): void {
    // An answer of that size is refused when it is complete, so no listener needs more of its text.
    const isTooMuch = this.#published + this.#text.length + piece.length > MAX_MESSAGE_BYTES;
    if (this.#isEnded || piece === '' || isTooMuch) return;
    this.#text += piece;
    // The first piece is published at once, because a person may be waiting for it.
    if (this.#pause === undefined || this.#text.length >= PUBLISH_CHARACTERS) this.#flush();
  }

  /**
   * Starts the text again at offset 0, because another model of the chain answers instead of the first. Listeners learn
   * this at once, because the other model may send no text.
   */
  restart(): void {
    if (this.#isEnded) return;
    const hasPublished = this.#published > 0;
    this.#text = '';
    this.#published = 0;
    if (hasPublished) this.#flush();
  }

  /** Publishes the rest of the text and ends the stream. */
  end(): void {
    if (!this.#isEnded && this.#text !== '') this.#flush();
    this.#stop();
  }

  #flush(): void {
    const { lease, step, timers } = this.#options;
    const { turn, epoch } = lease;
    do {
      const piece = this.#text.slice(0, MAX_CHARACTERS);
      void this.#publish({ turn, step, epoch, offset: this.#published, piece });
      this.#published += piece.length;
      this.#text = this.#text.slice(piece.length);
    } while (this.#text !== '');
    this.#pause?.stop();
    this.#pause = timers.after(PUBLISH_EVERY_MS, () => {
      this.#pause = undefined;
      if (this.#text !== '') this.#flush();
    });
  }

  async #publish(delta: TextDelta): Promise<void> {
    if (this.#inFlight >= MAX_IN_FLIGHT) return;
    this.#inFlight += 1;
    try {
      const { texts, lease } = this.#options;
      await texts.publishText(lease.conversation, delta);
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#inFlight -= 1;
    }
  }

  #fail(error: unknown): void {
    const { lease, onEvent } = this.#options;
    const { conversation, turn } = lease;
    if (!this.#hasFailed)
      onEvent({ type: 'worker_failed', where: 'text', ...nameConversation(conversation), turn, error });
    this.#hasFailed = true;
    this.#stop();
  }

  #stop(): void {
    this.#isEnded = true;
    this.#pause?.stop();
  }
}

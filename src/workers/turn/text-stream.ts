import type { EventListener } from '../../domain/events.ts';
import { nameConversation } from '../../domain/ids.ts';
import { MAX_MESSAGE_BYTES } from '../../domain/message.ts';
import type { TextDelta, TextPublisher } from '../../domain/ports/text-deltas.ts';
import type { TurnLease } from '../../domain/ports/turn-store.ts';
import type { Timers } from '../timers.ts';

/** Pieces that come within this time of each other are told as one. */
export const PUBLISH_EVERY_MS = 50;
/** This much is told at once. */
export const PUBLISH_CHARACTERS = 4_096;
/** A Redis that does not answer holds so many deltas of a turn in this process; what comes then is dropped. */
export const MAX_IN_FLIGHT = 16;
/** Characters of one delta, at most: a larger piece is published in several. */
const MOST_CHARACTERS = 64 * 1024;

export interface TextStreamOptions {
  readonly texts: TextPublisher;
  readonly timers: Timers;
  readonly lease: TurnLease;
  /** number of the model step, from 1 */
  readonly step: number;
  readonly onEvent: EventListener;
}

/**
 * Tells a model's text to whoever listens, while one call of one step is under way. Nothing waits for it and no failure of
 * it reaches the turn; the first one is reported and ends the telling.
 */
export class TextStream {
  readonly #options: TextStreamOptions;
  #text = '';
  #told = 0;
  #underWay = 0;
  #isEnded = false;
  #hasFailed = false;
  #rest: { stop(): void } | undefined;

  constructor(options: TextStreamOptions) {
    this.#options = options;
  }

  /** Never throws. After the end it does nothing: a call that ignores its signal may still speak. */
  add(piece: string): void {
    // A longer answer is refused when it is whole, so nobody needs more of its text.
    const isTooMuch = this.#told + this.#text.length + piece.length > MAX_MESSAGE_BYTES;
    if (this.#isEnded || piece === '' || isTooMuch) return;
    this.#text += piece;
    // The first piece goes at once: somebody waits for it.
    if (this.#rest === undefined || this.#text.length >= PUBLISH_CHARACTERS) this.#tell();
  }

  /**
   * Another model of a chain answers in the place of the one that was heard: its text begins at 0. That is told at once, since
   * it may have none.
   */
  restart(): void {
    if (this.#isEnded) return;
    const wasHeard = this.#told > 0;
    this.#text = '';
    this.#told = 0;
    if (wasHeard) this.#tell();
  }

  /** Tells what is left. */
  end(): void {
    if (!this.#isEnded && this.#text !== '') this.#tell();
    this.#stop();
  }

  #tell(): void {
    const { lease, step, timers } = this.#options;
    const { turn, epoch } = lease;
    do {
      const piece = this.#text.slice(0, MOST_CHARACTERS);
      void this.#publish({ turn, step, epoch, offset: this.#told, piece });
      this.#told += piece.length;
      this.#text = this.#text.slice(piece.length);
    } while (this.#text !== '');
    this.#rest?.stop();
    this.#rest = timers.after(PUBLISH_EVERY_MS, () => {
      this.#rest = undefined;
      if (this.#text !== '') this.#tell();
    });
  }

  async #publish(delta: TextDelta): Promise<void> {
    if (this.#underWay >= MAX_IN_FLIGHT) return;
    this.#underWay += 1;
    try {
      const { texts, lease } = this.#options;
      await texts.publishText(lease.conversation, delta);
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#underWay -= 1;
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
    this.#rest?.stop();
  }
}

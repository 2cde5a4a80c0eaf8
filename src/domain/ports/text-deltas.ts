import { z } from 'zod';
import type { ConversationRef } from '../ids.ts';

/**
 * A piece of an answer's text, sent while the model writes it. Pieces may be lost, and the step may run again. The log
 * has the final text once the step is recorded (invariant I18).
 */
export const textDeltaSchema = z.object({
  turn: z.string(),
  /** Number of the model call within its turn, from 1. */
  step: z.number().int().min(1),
  /** Epoch of the worker that runs the model call. A higher epoch means that another worker starts the call again. */
  epoch: z.number(),
  /**
   * Number of UTF-16 characters before this piece. If it is smaller than the text received so far, another model
   * answers and the text starts again. If it is larger, a piece was lost.
   */
  offset: z.number().int().min(0),
  /** Text of the piece. An empty piece means: discard the text received so far. */
  piece: z.string(),
});

export type TextDelta = z.infer<typeof textDeltaSchema>;

/** Publishes pieces of text to all processes that are listening now. */
export interface TextPublisher {
  /** Publishes a piece. Pieces arrive in the order of the calls. A piece that no process listens for is lost. */
  publishText(conversation: ConversationRef, delta: TextDelta): Promise<void>;
}

/** A subscription to pieces of text. */
export interface TextListening {
  /** Waits until every piece published before this call has arrived or is lost. Never rejects. */
  catchUp(): Promise<void>;
  stop(): void;
}

/** Subscribes to pieces of text. */
export interface TextListener {
  /** Starts a subscription. Pieces published earlier are not delivered. */
  listen(conversation: ConversationRef, hear: (delta: TextDelta) => void): TextListening;
}

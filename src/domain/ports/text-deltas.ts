import { z } from 'zod';
import type { ConversationRef } from '../ids.ts';

/**
 * A piece of an answer's text while the model writes it. It is only a hint: pieces may be lost, and the step may run
 * again. The log has the final text once the step is recorded (I18).
 */
export const textDeltaSchema = z.object({
  turn: z.string(),
  /** Number of the model step within its turn, from 1. */
  step: z.number().int().min(1),
  /** Epoch of the worker that runs the step. A higher epoch starts the step again. */
  epoch: z.number(),
  /**
   * UTF-16 characters of the step's text before this piece. A smaller number than received: another model answers, and
   * the text starts again. A larger number: a piece was lost.
   */
  offset: z.number().int().min(0),
  /** Text of the piece. Empty: the text received so far is void, and nothing replaces it yet. */
  piece: z.string(),
});

export type TextDelta = z.infer<typeof textDeltaSchema>;

/** Publishes pieces of text to the processes that listen now. */
export interface TextPublisher {
  /** Publishes a piece, in the order of the calls. A piece without listeners is lost. */
  publishText(conversation: ConversationRef, delta: TextDelta): Promise<void>;
}

/** A running subscription. */
export interface TextListening {
  /** Waits for everything that was published before this call and not lost. Never rejects. */
  catchUp(): Promise<void>;
  stop(): void;
}

/** Receives pieces of text. */
export interface TextListener {
  /** Starts a subscription. Earlier pieces are not delivered. */
  listen(conversation: ConversationRef, hear: (delta: TextDelta) => void): TextListening;
}

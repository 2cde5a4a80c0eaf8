import { z } from 'zod';
import type { ConversationRef } from '../ids.ts';

/**
 * A piece of an answer's text while its model still writes it. A hint: any piece may be lost, the step may be taken again,
 * and what is true is in the log once the step is recorded.
 */
export const textDeltaSchema = z.object({
  turn: z.string(),
  /** number of the model step within its turn, from 1 */
  step: z.number().int().min(1),
  /** of the owner that takes the step; a higher one takes it from its beginning */
  epoch: z.number(),
  /**
   * characters (UTF-16) of the step's text before this piece. Fewer than were told: another model answers, and the text begins
   * again; more: a piece was lost
   */
  offset: z.number().int().min(0),
  /** empty: what was told of the step does not hold, and nothing stands in its place yet */
  piece: z.string(),
});

export type TextDelta = z.infer<typeof textDeltaSchema>;

export interface TextPublisher {
  /** tells those who listen now, in the order of the calls; nobody need listen */
  publishText(conversation: ConversationRef, delta: TextDelta): Promise<void>;
}

export interface TextListening {
  /** Everything that was published before this call, and not lost, is heard once it resolves. Never rejects. */
  catchUp(): Promise<void>;
  stop(): void;
}

export interface TextListener {
  /** What was published before listening has begun is heard by nobody. */
  listen(conversation: ConversationRef, hear: (delta: TextDelta) => void): TextListening;
}

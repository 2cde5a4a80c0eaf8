import type { Message, Weight } from './message.ts';
import type { ItemSegment } from './version.ts';

/**
 * One thing the model is sent, with the seqs that it stands for: a log message (`from` equals `to`) or a summary. What
 * a plan is made over.
 */
export interface ContextItem extends Weight {
  readonly from: number;
  readonly to: number;
  readonly message: Message;
  /** where the version has it otherwise than the log: a summary, a masked result, a clipped message */
  readonly segment?: ItemSegment;
  /** of a clipped message: as the log has it, so that it can be clipped further */
  readonly logged?: Message;
}

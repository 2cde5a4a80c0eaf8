import type { Message, Weight } from './message.ts';
import type { ItemSegment } from './version.ts';

/**
 * One item of a context: a log message (`from` equals `to`) or a summary of the seqs `from…to`. Plans are made over
 * items.
 */
export interface ContextItem extends Weight {
  readonly from: number;
  readonly to: number;
  readonly message: Message;
  /** Segment of the version, if the item differs from the log: a summary, a masked result, a clipped message. */
  readonly segment?: ItemSegment;
  /** Message of the log behind a clipped item, so that the item can be clipped further. */
  readonly logged?: Message;
}

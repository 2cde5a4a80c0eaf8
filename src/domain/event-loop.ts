export interface LoopBlock {
  readonly ms: number;
  /** Cause of the block for a message, e.g. `by the tool "scan"`. Empty if no tool ran. */
  readonly cause: string;
}

export interface EventLoop {
  /** Until the returned promise settles, the tool counts as a possible cause of a block. */
  runTool<T>(name: string, call: () => Promise<T> | T): Promise<T>;
  /** Undefined if no block of a second or more ended within the last `ms`. */
  longestWithin(ms: number): LoopBlock | undefined;
}

export function describeBlock({ ms, cause }: LoopBlock): string {
  return `the event loop was blocked for ${Math.round(ms / 1_000)} s${cause === '' ? '' : ` ${cause}`}`;
}

/** A time during which the event loop of this process ran one piece of code, and so nothing else. */
export interface LoopBlock {
  readonly ms: number;
  /** Names the code, e.g. `by the tool "scan"`. Empty if no tool ran. */
  readonly cause: string;
}

/** Finds out when the event loop of this process was blocked, and by which tool. */
export interface EventLoop {
  /** Calls a tool's own code. Until the returned promise settles, the tool counts as a possible cause. */
  runTool<T>(name: string, call: () => Promise<T> | T): Promise<T>;
  /** Returns the longest block that ended within the last `ms`. Undefined if there was none of a second or more. */
  longestWithin(ms: number): LoopBlock | undefined;
}

export function describeBlock({ ms, cause }: LoopBlock): string {
  return `the event loop was blocked for ${Math.round(ms / 1_000)} s${cause === '' ? '' : ` ${cause}`}`;
}

/** A message of the turn, as far as times follow from it. */
export interface TimedMessage {
  readonly role: string;
  readonly at: number;
  readonly toolCallId?: string | undefined;
}

/** When a step or a tool call was recorded, and how long after the record before it. */
export interface RecordedTime {
  readonly at: number;
  readonly tookMs: number;
}

export interface StepTimes {
  /** By the number of the model step, from 1. */
  readonly steps: ReadonlyMap<number, RecordedTime>;
  /** By the id of the tool call. */
  readonly calls: ReadonlyMap<string, RecordedTime>;
}

/**
 * Finds the times of a turn's steps. The log has the time of each record. The calls of one step run at the same time, so
 * each of them began with the record of their step.
 */
export function timeSteps(messages: readonly TimedMessage[]): StepTimes {
  const steps = new Map<number, RecordedTime>();
  const calls = new Map<string, RecordedTime>();
  let last = messages[0]?.at ?? 0;
  let stepAt = last;
  for (const { role, at, toolCallId } of messages) {
    if (role === 'assistant') {
      steps.set(steps.size + 1, { at, tookMs: at - last });
      stepAt = at;
    } else if (role === 'tool' && toolCallId !== undefined) {
      calls.set(toolCallId, { at, tookMs: at - stepAt });
    }
    last = at;
  }
  return { steps, calls };
}

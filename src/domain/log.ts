import { addWeights, type LogEntry, NO_WEIGHT, type WeighedMessage, type Weight } from './message.ts';

/** Numbers weighed messages as a log does, from `firstSeq`. Used for logs outside of a store. */
export function buildLog(
  messages: readonly WeighedMessage[],
  firstSeq = 1,
  before: Weight = NO_WEIGHT,
  at = 0,
): LogEntry[] {
  let total = before;
  return messages.map((weighed, index) => {
    total = addWeights(total, weighed);
    return { ...weighed, seq: firstSeq + index, total, at };
  });
}

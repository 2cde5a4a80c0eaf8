import { type PassPlan, passPlanSchema } from '../../domain/compaction/plan.ts';
import { TurnfoldError } from '../../domain/errors.ts';
import type { ConversationRef } from '../../domain/ids.ts';

/**
 * A plan as its pass keeps it. None of its ranges is longer than the log.
 * @throws corrupt_record
 */
export function readPlan(json: string, { id }: ConversationRef, head: number): PassPlan {
  const read = passPlanSchema.safeParse(parseJson(json));
  const ranges = read.success ? [...read.data.sequences, ...read.data.evict] : [];
  const isSound = ranges.every(({ from, to }) => from <= to && to <= head);
  if (read.success && isSound && read.data.head <= head) return read.data;
  const [key, field] = [`pass:${id}`, 'plan'];
  const why = `${key}, field ${field}: it is not a plan for ${head} messages. Repair the record, or erase its conversation.`;
  throw new TurnfoldError('corrupt_record', why, { field, details: { key, field } });
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

import { z } from 'zod';

/** List with a maximum length. Zod checks the length before the items, so a huge list is refused at once. */
export function boundedList<Schema extends z.ZodType>(schema: Schema, most: number): z.ZodArray<Schema> {
  return z.array(schema).max(most, `expected at most ${most} entries`);
}

export function boundedRecord<Value extends z.ZodType>(
  name: z.ZodString,
  value: Value,
  most: number,
): z.ZodType<Record<string, z.output<Value>>, Record<string, z.input<Value>>> {
  const checkCount = z.transform((given: unknown, context) => {
    if (typeof given === 'object' && given !== null && Object.keys(given).length > most) {
      context.addIssue(`expected at most ${most} members`);
    }
    return given;
  });
  const members = z
    .record(name, value, {
      error: (issue) => (issue.code === 'invalid_key' ? `name of a member: ${issue.issues[0]?.message}` : undefined),
    })
    .meta({ maxProperties: most });
  return checkCount.pipe(members) as unknown as ReturnType<typeof boundedRecord<Value>>;
}

/** Maximum entries of a list that grows with a conversation. No log has so many messages. */
export const MAX_GROWN_ENTRIES = 1_000_000;

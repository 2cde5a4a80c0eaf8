import { z } from 'zod';

export const waitSchema = z.number().min(0);

/** Options of the methods that follow one turn or the events of a conversation. */
export const followSchema = z.object({
  waitMs: waitSchema.optional(),
  signal: z.instanceof(AbortSignal, { error: 'expected an AbortSignal' }).optional(),
});

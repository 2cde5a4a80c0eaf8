import { z } from 'zod';
import type { TurnClaim } from '../../store/turns.ts';
import { timeSchema, unboundedList } from './operation.ts';

/** A model or tool call. Times are in ms since epoch, by the clock of Redis. */
export interface TurnStep {
  /** Number of the model call, from 1. A tool call has the number of the model call that made it. */
  readonly step: number;
  /** Id of the tool call. Absent for a model call. */
  readonly call?: string;
  /** `started`: the call has no recorded outcome. Its worker is busy with it, or died. */
  readonly status: 'started' | 'done';
  /** Time of the record. */
  readonly at: number;
  /** Time since the previous record, including waits. */
  readonly tookMs?: number;
  /** Position (seq) of the first appended message. Absent if no message was appended. */
  readonly from?: number;
  /** Position (seq) of the last appended message. Absent if no message was appended. */
  readonly to?: number;
}

export interface TurnSteps {
  /** Time at which a worker first claimed the turn. Absent before. */
  readonly begunAt?: number;
  /** Each model call, then the tool calls that it made. */
  readonly steps: readonly TurnStep[];
  /** Present while a worker has claimed the turn. */
  readonly claim?: TurnClaim;
}

export const turnStepsSchema = z
  .looseObject({
    begunAt: timeSchema.optional().describe('Time at which a worker first claimed the turn, in ms since epoch.'),
    steps: unboundedList(
      z.looseObject({
        step: z
          .number()
          .describe('Number of the model call, from 1. A tool call has the number of the model call that made it.'),
        call: z.string().optional().describe('Id of the tool call. Absent for a model call.'),
        status: z.enum(['started', 'done']).describe('started: the call has no recorded outcome yet.'),
        at: timeSchema,
        tookMs: z.number().optional().describe('Time since the previous record in ms, including waits.'),
        from: z.number().optional().describe('Position (seq) of the first message that the step appended.'),
        to: z.number().optional().describe('Position (seq) of the last message that the step appended.'),
      }),
    ),
    claim: z
      .looseObject({
        attempts: z.number().describe('Claims since the last recorded step, this one included.'),
        leaseUntil: timeSchema.optional().describe("End of the worker's lease, in ms since epoch."),
      })
      .optional()
      .describe('Present while a worker has claimed the turn.'),
  })
  .meta({ id: 'TurnSteps', description: 'Model and tool calls of a turn in its order, with their times.' });

export type TurnStepsAnswer = z.infer<typeof turnStepsSchema>;

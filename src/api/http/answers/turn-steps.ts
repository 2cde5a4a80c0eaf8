import { z } from 'zod';

const time = z.number().describe('ms since epoch, by the clock of Redis');

export const turnStepsSchema = z
  .looseObject({
    begunAt: time.optional().describe('Time at which a worker first claimed the turn, in ms since epoch.'),
    steps: z.array(
      z.looseObject({
        step: z
          .number()
          .describe('Number of the model call, from 1. A tool call has the number of the model call that made it.'),
        call: z.string().optional().describe('Id of the tool call. Absent for a model call.'),
        status: z.enum(['started', 'done']).describe('started: the call has no recorded outcome yet.'),
        at: time,
        tookMs: z.number().optional().describe('Time since the previous record in ms, including waits.'),
        from: z.number().optional().describe('Position (seq) of the first message that the step appended.'),
        to: z.number().optional().describe('Position (seq) of the last message that the step appended.'),
      }),
    ),
    claim: z
      .looseObject({
        attempts: z.number().describe('Claims since the last recorded step, this one included.'),
        leaseUntil: time.optional().describe("End of the worker's lease, in ms since epoch."),
      })
      .optional()
      .describe('Present while a worker has claimed the turn.'),
  })
  .meta({ id: 'TurnSteps', description: 'Model and tool calls of a turn in its order, with their times.' });

export type TurnStepsAnswer = z.infer<typeof turnStepsSchema>;

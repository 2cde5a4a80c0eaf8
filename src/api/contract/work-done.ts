import { z } from 'zod';
import type { WorkDone } from '../../summarize/progress/work-done.ts';
import type { ConversationName } from './names.ts';
import { CONVERSATION, type Operations, timeSchema, unboundedList } from './operation.ts';

const place = { seq: z.number().describe('Position (seq) of the message with the call.'), at: timeSchema };

const doneCallsSchema = z.looseObject({
  count: z.number(),
  last: unboundedList(
    z.looseObject({
      ...place,
      call: z.string().describe('Tool and target in one line.'),
      outcome: z.string().describe('The result in a few words, such as `ok: paid` or `✗ exit code 2: make: stop`.'),
    }),
  ).describe('Newest first, at most 5.'),
});

const workDoneSchema = z
  .looseObject({
    from: z.number().describe('Position of the first message that was read. Above 1, older messages were not read.'),
    head: z.number().describe('Position of the last message that was read.'),
    calls: z.looseObject({
      worked: doneCallsSchema,
      failed: doneCallsSchema,
      unanswered: z
        .number()
        .describe('Calls without a result. Some wait for it, and the turn of the others ended before it.'),
    }),
    files: z.looseObject({
      count: z.number().describe('Number of changed files, at most 2,000.'),
      last: unboundedList(
        z.looseObject({
          path: z.string(),
          seq: z.number().describe('Position of the call with the last change.'),
          by: unboundedList(z.looseObject({ name: z.string(), count: z.number() })).describe(
            'Tools and programs that changed the file, at most 8.',
          ),
        }),
      ).describe('Newest change first, at most 50.'),
    }),
    tests: z
      .looseObject({
        ...place,
        call: z.string(),
        lines: unboundedList(z.string()).describe('Lines of the result that count tests, at most 3.'),
        isOld: z.boolean().describe('True if a file was changed since.'),
      })
      .optional()
      .describe('Last run that counted tests. Absent if no run did.'),
    tasks: z
      .looseObject({
        ...place,
        list: unboundedList(z.looseObject({ text: z.string(), status: z.string(), isClosed: z.boolean() })),
      })
      .optional()
      .describe('Last list of tasks in a call. Absent without one.'),
  })
  .meta({ id: 'WorkDone', description: 'Work of the agent, read by code from its calls and their results.' });

export type WorkDoneAnswer = z.infer<typeof workDoneSchema>;

export interface WorkDoneMethods {
  /**
   * Returns what the agent did: changed files, the last test run, tasks, and calls with their outcomes. Reads the whole
   * log, at most its last 20,000 messages and 32 MB. Later calls read only new messages.
   */
  workDone(conversation: ConversationName): Promise<WorkDone>;
}

export const workDoneOperations = {
  workDone: {
    method: 'get',
    path: `${CONVERSATION}/work-done`,
    scope: 'read',
    command: 'describe',
    errors: ['not_found'],
    summary: 'Show what the agent did: changed files, the last test run, tasks, and calls with their outcomes.',
    answer: workDoneSchema,
  },
} satisfies Operations;

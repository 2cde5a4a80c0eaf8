import { z } from 'zod';
import { SCOPES } from '../../domain/access-key.ts';
import { idSchema } from '../../domain/ids.ts';
import { type Operations, unboundedList, unboundedRecord } from './operation.ts';

const accessSchema = z
  .looseObject({
    tenant: idSchema.describe('The only tenant whose conversations the caller reaches.'),
    isReadOnly: z.literal(true).optional().describe('Present if the server refuses every change.'),
    owner: z.string().optional().describe('Present if the caller reaches only the conversations of this owner.'),
    conversation: idSchema.optional().describe('Present if the caller reaches only this conversation.'),
    scopes: unboundedList(z.enum(SCOPES)).describe('Rights of the caller. `admin` includes the others.'),
  })
  .meta({ id: 'Access' });

export type AccessAnswer = z.infer<typeof accessSchema>;

const minutes = unboundedList(z.number()).describe('One number for each of the last 60 minutes, oldest first.');
const age = z.number().describe('Milliseconds.');

const queueSchema = z.looseObject({
  queue: z.string(),
  counts: unboundedRecord(z.number()).describe('Number of jobs by state.'),
  waitMs: age.optional().describe('Wait of the oldest job in ms. Absent if none waits.'),
  workers: z
    .number()
    .optional()
    .describe('Lowest number of connected workers on any shard. Absent if Redis does not list clients.'),
  isPaused: z.boolean(),
  finished: minutes,
  failed: minutes,
  waits: unboundedList(z.number().nullable()).describe(
    'Longest wait of a job in ms, for each of the last 60 minutes, oldest first. null: the server made no report in this minute.',
  ),
});

const findingSchema = z.looseObject({
  name: z.string(),
  state: z.enum(['ok', 'warning', 'wrong']),
  what: z.string(),
  remedy: z.string().optional(),
});

export const fleetSchema = z
  .looseObject({
    at: z.number().describe('Time of the report.'),
    workers: unboundedList(
      z.looseObject({
        worker: z.string(),
        roles: unboundedList(z.string()),
        startedAt: z.number(),
        seenAt: z
          .number()
          .describe('Time at which the worker last renewed its entry. A worker renews its entry every 0.5 s.'),
        isLost: z
          .boolean()
          .describe(
            'True if the worker has not renewed its entry for 20 s. Another worker then reports this worker as lost and removes the entry. The entry of a killed worker is removed after 1 to 2 s.',
          ),
      }),
    ),
    queues: unboundedList(queueSchema),
    inbox: z.looseObject({ waiting: z.number(), failed: z.number(), isPaused: z.boolean() }),
    mailboxes: z.looseObject({
      waiting: z.number().describe('Conversations whose oldest turn waits for a worker.'),
      oldestMs: age,
    }),
    backlog: z.looseObject({
      overdue: unboundedRecord(z.number()).describe('Entries that the sweeper should have handled, by kind.'),
      oldestOverdueMs: age,
      openPasses: z.number(),
      oldestOpenPassMs: age,
      failedTurns: z.number().describe('Failed turns of the last seven days.'),
    }),
    failedTurns: minutes,
    quarantined: unboundedList(
      z.looseObject({ shard: z.number(), name: z.string(), at: z.number().optional(), why: z.string() }),
    ),
    webhooks: unboundedList(
      z.looseObject({
        webhook: z.string(),
        tenant: z.string(),
        origin: z.string(),
        state: z.enum(['failing', 'set_aside', 'missed_events']),
      }),
    ).describe('Webhooks that fail, were set aside or missed events.'),
    findings: unboundedList(findingSchema).describe('Findings of `turnfold doctor` about workers, queues and records.'),
    grafanaUrl: z.string().optional().describe('Value of TURNFOLD_GRAFANA_URL.'),
  })
  .meta({ id: 'Fleet', description: 'State of all workers and queues of a deployment, for all tenants.' });

/** Operations of the server itself, which no method of the client has. */
export const serverOperations = {
  showAccess: {
    method: 'get',
    path: '/v1/access',
    scope: 'read',
    command: { none: 'a shell reaches Redis, with every right' },
    summary: 'Show what the caller may do, so that a page can say it before the caller tries.',
    answer: accessSchema,
  },
  showFleet: {
    method: 'get',
    path: '/v1/fleet',
    scope: 'admin',
    command: 'doctor',
    errors: ['not_offered'],
    summary:
      'Show workers, queues, the last hour, quarantined records and failing webhooks, for an operator of all tenants.',
    answer: fleetSchema,
  },
} satisfies Operations;

import { z } from 'zod';
import { keyInputSchema, rotationSchema, SCOPES } from '../../domain/access-key.ts';
import { idSchema } from '../../domain/ids.ts';
import { WEBHOOK_OUTCOMES, webhookEventSchema, webhookInputSchema } from '../../domain/webhook.ts';
import { type Operations, timeSchema, unboundedList, unboundedRecord } from './operation.ts';

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

const keySchema = z
  .looseObject({
    id: z.string().describe('Public id of the key, which is also the readable part of its token.'),
    tenant: idSchema,
    name: z.string(),
    scopes: unboundedList(z.enum(SCOPES)),
    state: z.enum(['active', 'expired', 'revoked']),
    createdAt: timeSchema,
    expiresAt: timeSchema.optional(),
    usedAt: timeSchema.optional(),
    rotatedAt: timeSchema.optional(),
    revokedAt: timeSchema.optional(),
  })
  .meta({ id: 'AccessKey', description: 'An access key without its secret.' });

const issuedSchema = z
  .looseObject({ key: keySchema, token: z.string().describe('Bearer token. It is not shown again.') })
  .meta({ id: 'IssuedKey' });

const webhookSchema = z
  .looseObject({
    id: idSchema,
    tenant: idSchema,
    url: z.string(),
    events: unboundedList(webhookEventSchema),
    agent: idSchema.optional(),
    createdAt: z.number().describe('ms since epoch.'),
    state: z.enum(['active', 'failing', 'set_aside']),
    failures: z.number().optional(),
    failingSince: timeSchema.optional(),
    lastFailure: z.string().optional(),
    losses: z.number().optional(),
  })
  .meta({ id: 'Webhook', description: 'A webhook with its failures, without its secret.' });

const addedSchema = z
  .looseObject({
    webhook: webhookSchema,
    secret: z.string().describe('Secret of Standard Webhooks, for the receiver. It is not shown again.'),
  })
  .meta({ id: 'AddedWebhook' });

const testSchema = z
  .looseObject({
    webhook: idSchema,
    status: z
      .enum([...WEBHOOK_OUTCOMES, 'not_sent'])
      .describe('delivered: a status from 200 to 299. not_sent: no worker has sent the event in time.'),
    durationMs: z.number().optional().describe('Time of the request in ms. Absent if nothing was sent.'),
    why: z.string().optional().describe('Cause of the failure, without contents of the response.'),
  })
  .meta({ id: 'WebhookTest', description: 'Outcome of a test event.' });

const { tenant: _keyTenant, ...keyFields } = keyInputSchema.shape;
const { tenant: _webhookTenant, ...webhookFields } = webhookInputSchema.shape;
const KEY = '/v1/keys/{key}';
const WEBHOOK = '/v1/webhooks/{webhook}';

/** Keys and webhooks of the caller's tenant: `client.keys` and `client.webhooks`. */
export const accessOperations = {
  createAccessKey: {
    method: 'post',
    path: '/v1/keys',
    scope: 'admin',
    command: 'keys create',
    errors: ['not_offered'],
    summary: 'Create an access key of the tenant. The answer shows its token once.',
    body: z.strictObject(keyFields),
    status: 201,
    answer: issuedSchema,
  },
  listAccessKeys: {
    method: 'get',
    path: '/v1/keys',
    scope: 'admin',
    command: 'keys list',
    errors: ['not_offered'],
    summary: 'List the access keys of the tenant, without secrets. Revoked keys are listed for 30 days.',
    answer: z.looseObject({ keys: unboundedList(keySchema) }).meta({ id: 'AccessKeys' }),
    member: 'keys',
  },
  rotateAccessKey: {
    method: 'post',
    path: `${KEY}/rotate`,
    scope: 'admin',
    command: 'keys rotate',
    errors: ['not_found', 'conflict', 'not_offered'],
    summary: 'Give an access key a new secret. The previous one stays valid for `graceMs`.',
    body: rotationSchema.prefault({}),
    answer: issuedSchema,
  },
  revokeAccessKey: {
    method: 'delete',
    path: KEY,
    scope: 'admin',
    command: 'keys revoke',
    errors: ['not_found', 'not_offered'],
    summary: 'Revoke an access key for good. Servers refuse it after at most 2 s.',
    answer: keySchema,
  },
  rotateTokenSecret: {
    method: 'post',
    path: '/v1/token-secret/rotate',
    scope: 'admin',
    command: 'rotate-token-secret',
    errors: ['not_offered'],
    summary: 'Replace the secret of conversation tokens. With `graceMs` 0, all tokens of the tenant end.',
    body: rotationSchema.prefault({}),
    answer: z.looseObject({ tenant: idSchema }).meta({ id: 'RotatedTokenSecret' }),
  },
  addWebhook: {
    method: 'post',
    path: '/v1/webhooks',
    scope: 'admin',
    command: 'webhooks add',
    errors: ['not_offered'],
    summary: 'Add a webhook of the tenant. The answer shows the secret of its signatures once.',
    body: z.strictObject(webhookFields),
    status: 201,
    answer: addedSchema,
  },
  listWebhooks: {
    method: 'get',
    path: '/v1/webhooks',
    scope: 'admin',
    command: 'webhooks list',
    errors: ['not_offered'],
    summary: 'List the webhooks of the tenant with their failures, without secrets.',
    answer: z.looseObject({ webhooks: unboundedList(webhookSchema) }).meta({ id: 'Webhooks' }),
    member: 'webhooks',
  },
  removeWebhook: {
    method: 'delete',
    path: WEBHOOK,
    scope: 'admin',
    command: 'webhooks remove',
    errors: ['not_found', 'not_offered'],
    summary: 'Remove a webhook with its unsent events.',
    answer: z.looseObject({ webhook: idSchema }).meta({ id: 'RemovedWebhook' }),
  },
  retryWebhook: {
    method: 'post',
    path: `${WEBHOOK}/retry`,
    scope: 'admin',
    command: 'webhooks retry',
    errors: ['not_found', 'not_offered'],
    summary: 'Send events again to a webhook that was set aside after failures.',
    answer: webhookSchema,
  },
  testWebhook: {
    method: 'post',
    path: `${WEBHOOK}/test`,
    scope: 'admin',
    command: 'webhooks test',
    errors: ['not_found', 'not_offered'],
    summary: 'Let a worker send a signed test event to a webhook, and wait up to 25 s for the outcome.',
    answer: testSchema,
    waits: true,
  },
} satisfies Operations;

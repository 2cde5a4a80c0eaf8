import { z } from 'zod';
import { keyInputSchema, rotationSchema, SCOPES } from '../../domain/access-key.ts';
import { idSchema } from '../../domain/ids.ts';
import { WEBHOOK_OUTCOMES, webhookEventSchema, webhookInputSchema } from '../../domain/webhook.ts';
import { type Operations, timeSchema, unboundedList } from './operation.ts';

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

import { z } from 'zod';
import { boundedRecord } from '../../../domain/bounded-schemas.ts';
import { MAX_POLICY_SETTINGS } from '../../../domain/policy-input.ts';
import { approvalSchema, rejectionSchema } from '../../client/proposals.ts';
import { restoreSchema } from '../../client/versions.ts';
import {
  compactionSchema,
  decisionSchema,
  diffSchema,
  namedVersionSchema,
  proposalsSchema,
  versionsSchema,
} from '../answers/conversations.ts';
import { contextSchema } from '../answers/messages.ts';
import { readOperation } from '../idempotency-key.ts';
import { defineRoute } from '../route.ts';
import { hideTenant, MAX_WAIT_MS } from './fields.ts';

const CONVERSATION = '/v1/conversations/{conversation}';
const PROPOSAL = `${CONVERSATION}/proposals/{proposal}` as const;
const { version: _version, ...restoreFields } = restoreSchema.shape;
const waitMs = z.number().int().min(0).max(MAX_WAIT_MS).optional().describe('How long to wait for a worker, in ms.');

const trialPolicySchema = boundedRecord(z.string(), z.unknown(), MAX_POLICY_SETTINGS).describe(
  'Policy of a dry run, as in docs/reference/policy.md. Absent settings are those of the agent, if a worker has recorded them, or else have their defaults.',
);

const compact = defineRoute({
  operation: 'compactConversation',
  holdsContext: true,
  method: 'post',
  path: `${CONVERSATION}/compact`,
  scope: 'admin',
  summary: 'Request a compaction now, or show with `dryRun` what a compaction would do.',
  body: z
    .strictObject({
      dryRun: z.boolean().default(false).describe('true: change nothing, and answer with the plan.'),
      policy: trialPolicySchema.optional(),
    })
    .default({ dryRun: false }),
  isBodyOptional: true,
  onlyReads: ({ dryRun }) => dryRun,
  status: 202,
  result: compactionSchema,
  handle: async ({ client, name, body: { dryRun, policy } }) => {
    if (!dryRun) return { body: { pass: await client.compact(name) } };
    return { body: { plan: await client.plan(name, { policy: policy ?? {} }) } };
  },
});

const listVersions = defineRoute({
  operation: 'listVersions',
  method: 'get',
  path: `${CONVERSATION}/versions`,
  scope: 'read',
  summary: 'List the kept versions of the context, oldest first.',
  result: versionsSchema,
  handle: async ({ client, name }) => ({ body: { versions: await client.versions(name) } }),
});

const showVersion = defineRoute({
  operation: 'showVersion',
  holdsContext: true,
  method: 'get',
  path: `${CONVERSATION}/versions/{version}`,
  scope: 'read',
  summary: 'Show the context of a kept version as it was when the version was made.',
  result: contextSchema,
  handle: async ({ client, name, param }) => ({
    body: { ...hideTenant(await client.show(name, Number(param('version')))), format: 'turnfold' },
  }),
});

const diff = defineRoute({
  operation: 'diffVersions',
  holdsContext: true,
  method: 'get',
  path: `${CONVERSATION}/diff`,
  scope: 'read',
  summary: 'List what changed between the contexts of two kept versions.',
  query: z.strictObject({
    before: z.coerce.number().int().min(0).describe('Number of a kept version. 0 is the whole log.'),
    after: z.coerce.number().int().min(0).describe('Number of another kept version.'),
  }),
  result: diffSchema,
  handle: async ({ client, name, query: { before, after } }) => ({
    body: { changes: await client.diff(name, before, after) },
  }),
});

const restore = defineRoute({
  operation: 'restoreVersion',
  method: 'post',
  path: `${CONVERSATION}/versions/{version}/restore`,
  scope: 'admin',
  summary: 'Make a kept version the live context again. `expectedVersion` guards against a concurrent change.',
  hasKey: true,
  body: z.strictObject(restoreFields),
  result: namedVersionSchema,
  handle: async (call) => {
    const { client, name, param, body } = call;
    const operation = readOperation(call, body.operation);
    return { body: await client.restore(name, { ...body, version: Number(param('version')), operation }) };
  },
});

const listProposals = defineRoute({
  operation: 'listProposals',
  method: 'get',
  path: `${CONVERSATION}/proposals`,
  scope: 'read',
  summary: 'List the compaction that waits for a decision, if there is one.',
  result: proposalsSchema,
  handle: async ({ client, name }) => {
    const proposal = await client.proposal(name);
    return { body: { proposals: proposal === undefined ? [] : [hideTenant(proposal)] } };
  },
});

const approve = defineRoute({
  operation: 'approveProposal',
  method: 'post',
  path: `${PROPOSAL}/approve`,
  scope: 'answer',
  summary: 'Approve a proposed compaction, with optional edits of its summaries.',
  hasKey: true,
  body: approvalSchema.extend({ waitMs }).default({}),
  isBodyOptional: true,
  result: decisionSchema,
  handle: async (call) => {
    const { client, name, param, body, request, readers } = call;
    const operation = readOperation(call, body.operation);
    const decide = () => client.approve(name, param('proposal'), { ...body, operation });
    return { body: await readers.run(request, decide) };
  },
});

const reject = defineRoute({
  operation: 'rejectProposal',
  method: 'post',
  path: `${PROPOSAL}/reject`,
  scope: 'answer',
  summary: 'Reject a proposed compaction.',
  hasKey: true,
  body: rejectionSchema.extend({ waitMs }).default({}),
  isBodyOptional: true,
  result: decisionSchema,
  handle: async (call) => {
    const { client, name, param, body, request, readers } = call;
    const operation = readOperation(call, body.operation);
    const decide = () => client.reject(name, param('proposal'), { ...body, operation });
    return { body: await readers.run(request, decide) };
  },
});

export const versionRoutes = [compact, listVersions, showVersion, diff, restore, listProposals, approve, reject];

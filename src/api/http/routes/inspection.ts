import { z } from 'zod';
import { MAX_OUTLINE } from '../../client/outline.ts';
import { breakdownSchema, outlineSchema, reportSchema } from '../answers/inspection.ts';
import { defineRoute } from '../route.ts';
import { limitOf } from './fields.ts';

const CONVERSATION = '/v1/conversations/{conversation}';
const version = z.coerce.number().int().min(0).optional().describe('Number of a kept version. Absent: the live one.');

const showOutline = defineRoute({
  operation: 'showOutline',
  holdsContext: true,
  method: 'get',
  path: `${CONVERSATION}/outline`,
  scope: 'read',
  summary: 'List messages without their texts, in pages, and what became of each in the context.',
  query: z.strictObject({
    after: z.coerce.number().int().min(0).default(0).describe('Position (seq) behind which the page starts.'),
    limit: limitOf(MAX_OUTLINE),
    version,
  }),
  result: outlineSchema,
  handle: async ({ client, name, query: { version: number, ...page } }) => ({
    body: await client.outline(name, { ...page, ...(number !== undefined && { version: number }) }),
  }),
});

const showBreakdown = defineRoute({
  operation: 'showBreakdown',
  holdsContext: true,
  method: 'get',
  path: `${CONVERSATION}/breakdown`,
  scope: 'read',
  summary: 'Show what fills the context: window, thresholds, tokens by category, and the cost so far.',
  query: z.strictObject({ version }),
  result: breakdownSchema,
  handle: async ({ client, name, query: { version: number } }) => ({
    body: await client.breakdown(name, number === undefined ? {} : { version: number }),
  }),
});

const reportVersion = defineRoute({
  operation: 'reportVersion',
  holdsContext: true,
  method: 'get',
  path: `${CONVERSATION}/versions/{version}/report`,
  scope: 'read',
  summary: 'Show what a kept version did: its summaries, and the identifiers that they kept and lost.',
  query: z.strictObject({
    find: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe('Only words that contain this text. Ranges that left or were shortened are then searched, too.'),
  }),
  result: reportSchema,
  handle: async ({ client, name, param, query: { find } }) => ({
    body: await client.report(name, Number(param('version')), find === undefined ? {} : { find }),
  }),
});

export const inspectionRoutes = [showOutline, showBreakdown, reportVersion];

import { z } from 'zod';
import { CONVERSATION_STATES, SETTLED_STATES } from '../../../domain/conversation.ts';
import { idSchema } from '../../../domain/ids.ts';
import { LEAVE_CAUSES } from '../../../domain/leaving.ts';
import { REASONS } from '../../../domain/pass.ts';
import { WAIT_KINDS, waitingCallSchema } from '../../../domain/turn.ts';
import { versionSchema } from '../../../domain/version.ts';

export const conversationPageSchema = z
  .looseObject({
    conversations: z.array(
      z.looseObject({
        conversation: idSchema,
        agent: idSchema,
        state: z.enum(CONVERSATION_STATES),
        head: z.number(),
        turns: z.number(),
        mailbox: z.number(),
        waitsFor: z.enum(WAIT_KINDS).optional(),
        lastTurn: z.looseObject({ state: z.enum(SETTLED_STATES), settledAt: z.number() }).optional(),
        isForking: z.literal(true).optional(),
      }),
    ),
    next: z.string().optional().describe('Cursor of the next page, to send as `after`.'),
  })
  .meta({ id: 'ConversationPage' });

export const usageSchema = z
  .looseObject({
    inputTokens: z.number(),
    outputTokens: z.number(),
    cachedTokens: z.number().optional().describe('Part of inputTokens that providers read from their caches.'),
    costMicros: z.number().optional().describe('Price in millionths of a US dollar.'),
  })
  .meta({ id: 'Usage', description: 'Usage of model calls, as providers counted it.' });

export const conversationSchema = z
  .looseObject({
    conversation: idSchema,
    agent: idSchema,
    head: z.number().describe('Number of messages in the log.'),
    turns: z.number(),
    openCalls: z.array(z.looseObject(waitingCallSchema.partial({ until: true }).shape)),
    size: z.looseObject({ version: z.number().describe('Number of the live version.') }),
    passed: z.looseObject({ head: z.number(), turns: z.number() }),
    backoff: z.looseObject({}),
    spent: usageSchema.optional().describe('Usage of all settled turns and summaries.'),
    passId: z.string().optional().describe('Compaction that is requested or in progress.'),
    left: z
      .array(z.looseObject({ from: z.number(), to: z.number(), why: z.enum(LEAVE_CAUSES) }))
      .optional()
      .describe('Messages of the last 64 turns that left the context when they were settled.'),
  })
  .meta({ id: 'Conversation' });

export const erasedSchema = z.looseObject({ removedKeys: z.number() }).meta({ id: 'Erased' });

export const forkSchema = z.looseObject({ conversation: idSchema, head: z.number() }).meta({ id: 'Fork' });

const rangeSchema = z.looseObject({ from: z.number(), to: z.number() });

export const compactionSchema = z
  .looseObject({
    pass: idSchema.optional().describe('Id of the requested compaction. Absent for a dry run.'),
    plan: z
      .looseObject({
        kind: z.string().describe('none, trim, summarize, evict or infeasible'),
        reasons: z.array(z.enum(REASONS)),
        tokens: z.number().describe('Tokens of the context before the compaction.'),
        messages: z.number(),
        summarize: z.array(rangeSchema).describe('Ranges of the log that would become summaries.'),
        evict: z.array(rangeSchema).describe('Ranges of the log that would leave the context.'),
        mask: z.array(rangeSchema).describe('Ranges of the log whose messages would be masked or clipped.'),
        protected: z
          .array(z.number())
          .describe(
            'Positions (seqs) that no soft compaction removes. A summary has the position of its first message.',
          ),
        tokensAfter: z.number().describe('Estimated tokens of the context after the compaction.'),
      })
      .optional()
      .describe('Present for a dry run.'),
  })
  .meta({ id: 'Compaction' });

export type CompactionAnswer = z.infer<typeof compactionSchema>;

export const eventSchema = z.looseObject({ type: z.string(), at: z.number().optional() }).meta({
  id: 'ConversationEvent',
  description: 'A durable event, or `lost`, as in docs/reference/client.md. After `waitMs`, `end`.',
});

export const namedVersionSchema = versionSchema.meta({ id: 'Version' });

export const versionsSchema = z.looseObject({ versions: z.array(namedVersionSchema) }).meta({ id: 'Versions' });

const changesSchema = z.array(
  z.looseObject({ from: z.number(), to: z.number(), before: z.string(), after: z.string() }),
);

export const diffSchema = z.looseObject({ changes: changesSchema }).meta({ id: 'Diff' });

const proposalSchema = z
  .looseObject({
    conversation: idSchema,
    proposal: idSchema,
    reasons: z.array(z.enum(REASONS)),
    strategy: z.string(),
    over: z.number(),
    head: z.number(),
    tokensBefore: z.number(),
    tokensAfter: z.number(),
    archived: z.number(),
    explained: z.array(z.string()),
    summaries: z.array(z.looseObject({ range: z.string(), tokens: z.number(), model: z.string(), text: z.string() })),
    changes: changesSchema,
    proposedAt: z.number(),
    expiresAt: z.number(),
    isDecided: z.boolean(),
  })
  .meta({ id: 'Proposal' });

export const proposalsSchema = z
  .looseObject({ proposals: z.array(proposalSchema).max(1) })
  .meta({ id: 'Proposals', description: 'A conversation has at most one proposal.' });

export const decisionSchema = z
  .looseObject({
    operation: idSchema,
    state: z.enum(['pending', 'approved', 'rejected']),
    version: z.number().optional(),
  })
  .meta({ id: 'Decision' });

import { z } from 'zod';
import { defineTool, type Tool } from '../../src/domain/agent.ts';
import type { ModelRequest } from '../../src/domain/model.ts';
import type { PolicyInput } from '../../src/domain/policy.ts';
import type { Summarizer } from '../../src/domain/summarizer.ts';
import { type ScriptedOutcome, scriptedModel } from '../../src/providers/scripted.ts';
import type { Surroundings } from './world.ts';

type Decide = (request: ModelRequest) => ScriptedOutcome;

/** A log with two sequences for summaries. */
export const LONG = 'u20 a300 a300 u20 a300 a300 u20 a20';

/** A usable window of 2,000 tokens, which a turn of some hundred words exceeds. */
export const SMALL = { windowTokens: 2_500, outputCapTokens: 500 };

export const TOOLS = [
  defineTool({ name: 'read', description: '', input: z.object({}), run: async () => 'text' }),
  defineTool({ name: 'list', description: '', input: z.object({}), run: async () => 'names' }),
  defineTool({ name: 'remove', description: '', input: z.object({}), needsApproval: true, run: async () => 'removed' }),
  defineTool({ name: 'ask', description: '', input: z.object({}) }),
] as Tool[];

/** Always writes the same text for the same range. */
export const brief: Summarizer = {
  id: 'brief',
  summarize: async ({ range }) => ({ status: 'written', text: `what happened in ${range.from}-${range.to}` }),
};

/** Fails for the first sequence of `LONG`, like a service that is down, and summarizes the second. */
export const halfDown: Summarizer = {
  id: 'half-down',
  summarize: async (request) => {
    if (request.range.from === 2) throw new Error('down');
    return await brief.summarize(request);
  },
};

export const say: Decide = () => ({ content: 'said' });

/** An agent whose policy compacts `LONG` by summaries, beside its turns. */
export const summarizing =
  (summarizer: Summarizer, policy: PolicyInput = {}, decide = say) =>
  (): Surroundings => ({
    model: scriptedModel({ profile: { windowTokens: 100_000 }, decide }),
    policy: { tokenThreshold: 1_000, maxTokens: 600, retentionWindow: 2, ...policy },
    summarizers: [summarizer],
  });

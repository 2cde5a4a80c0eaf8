import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import { type Agent, defineTool, type Tool } from '../../src/domain/agent.ts';
import { type Model, ModelError, type ModelProfile, type ModelRequest } from '../../src/domain/model.ts';
import type { PolicyInput } from '../../src/domain/policy.ts';
import { modelChain } from '../../src/providers/chain.ts';
import { type ScriptedAnswer, scriptedModel } from '../../src/providers/scripted.ts';
import { RECORD } from '../models/summarizer/fixture.ts';
import { countSteps, words } from '../runtime/agents.ts';

const PRICES = { input: 3, cachedInput: 0.3, cacheWrite: 3.75, output: 15 };
const RETRY_MS = 200;
/** Fewer than a token of turnfold has in these texts, so that the provider's counts are higher. */
const CHARS_PER_TOKEN = 4;
/** Longer than a caller with a cut connection needs to fetch its answer. */
const REST_MS = 3_000;

const tool = (name: string, run?: () => Promise<string>, needsApproval = false): Tool =>
  defineTool({ name, description: '', input: z.object({}), needsApproval, ...(run !== undefined && { run }) });

const TOOLS = [
  tool('read', async () => words(120)),
  tool('break', () => Promise.reject(new Error('broken'))),
  tool('ask', undefined),
  tool('sign', async () => 'signed', true),
];

/**
 * Answers as a provider does: after a while, with a count of its own. It does not depend on `request.tokens`, which
 * contains what was learned from such counts.
 */
async function provide(request: ModelRequest, answer: Omit<ScriptedAnswer, 'usage'>): Promise<ScriptedAnswer> {
  await setTimeout(20 + (request.tokens % 80));
  const inputTotal = Math.ceil(JSON.stringify([request.system, request.messages]).length / CHARS_PER_TOKEN);
  return { ...answer, usage: { inputTotal, cachedInput: Math.round(inputTotal / 2), output: 40, outputKept: 40 } };
}

function provider(id: string, profile: Partial<ModelProfile> = {}): Model {
  return scriptedModel({
    profile: { id, prices: PRICES, ...profile },
    decide: (request) => provide(request, takeStep(request)),
  });
}

/** Tool calls first, as the input names them, then the answer. */
function takeStep(request: ModelRequest): Omit<ScriptedAnswer, 'usage'> {
  const input = request.messages.findLast(({ role }) => role === 'user')?.content ?? '';
  const calls = [...input.matchAll(/call:(\w+)/g)].map(([, name = '']) => ({ name, arguments: {} }));
  return countSteps(request) === 0 && calls.length > 0
    ? { content: 'I will look.', toolCalls: calls }
    : { content: `I will go on. ${words(150)}` };
}

/** Fails in another way at each step, so that every outcome of a request is there. */
function failing(): Model {
  const errors = [
    () => new ModelError('retry', 'overloaded', { retryAt: Date.now() + RETRY_MS }),
    () => new ModelError('fatal', 'no such model'),
    () => new ModelError('invalid', 'malformed', { code: 'bad_request' }),
    () => new ModelError('overflow', 'too long'),
  ];
  let calls = 0;
  return scriptedModel({
    profile: { id: 'failing', prices: PRICES },
    decide: (request) => {
      const error = errors[calls++ % (errors.length + 1)];
      return error === undefined ? provide(request, { content: 'at last' }) : error();
    },
  });
}

function agent(name: string, model: Model, policy: PolicyInput): Agent {
  return { name, system: 'You guide.', model, tools: TOOLS, policy };
}

const SOFT: PolicyInput = { tokenThreshold: 1_500, maxTokens: 1_000, retentionWindow: 2 };
const SMALL = { windowTokens: 3_500, outputCapTokens: 500 };

/** Refuses the form of whatever stands over a version, so that each version is rolled back. */
function picky(): Model {
  return scriptedModel({
    profile: { id: 'picky', prices: PRICES },
    decide: (request) =>
      request.messages.some(({ role }) => role === 'summary')
        ? new ModelError('invalid', 'malformed', { code: 'bad_request' })
        : provide(request, takeStep(request)),
  });
}

/** Delay of the agent's model. */
export function createTrafficAgents(gate: Promise<void>): readonly Agent[] {
  const held = scriptedModel({
    profile: { id: 'held', prices: PRICES },
    decide: async (request) => {
      await gate;
      return await provide(request, { content: 'at last' });
    },
  });
  const limited = scriptedModel({
    profile: { id: 'limited', prices: PRICES },
    decide: () => new ModelError('retry', 'rate limit', { retryAt: Date.now() + RETRY_MS }),
  });
  return [
    agent('summarizing', provider('large'), { ...SOFT, summarizer: { models: ['writer'] } }),
    agent('falling-back', provider('large'), { ...SOFT, summarizer: { models: ['refusing', 'limited-writer'] } }),
    agent('evicting', provider('large'), { ...SOFT, minSequenceTokens: 90_000 }),
    agent('trimming', provider('large'), { ...SOFT, maskToolResults: true, minSequenceTokens: 90_000 }),
    agent('hard-pressed', provider('small', SMALL), { mode: 'manual' }),
    agent('reviewed', provider('large'), { ...SOFT, mode: 'review' }),
    agent('unlucky', failing(), SOFT),
    agent('refused', picky(), SOFT),
    agent('held', held, { ...SOFT, conversationTtl: REST_MS }),
    agent('chained', modelChain([limited, provider('large')]), SOFT),
  ];
}

/** Summarizers of the policies: one writes, one writes nothing useful, one is over its limit. */
export function createTrafficSummarizers(): readonly Model[] {
  const summarizer = (id: string, answer: (request: ModelRequest) => Promise<ScriptedAnswer> | Error): Model =>
    scriptedModel({ profile: { id, prices: PRICES }, decide: answer });
  return [
    summarizer('writer', (request) => provide(request, { content: RECORD })),
    summarizer('refusing', (request) => provide(request, { content: 'I cannot help with that.', end: 'refusal' })),
    summarizer('limited-writer', () => new ModelError('fatal', 'no quota')),
  ];
}

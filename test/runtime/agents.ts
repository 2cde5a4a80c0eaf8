import { z } from 'zod';
import { type Agent, defineTool, type Tool } from '../../src/domain/agent.ts';
import type { ModelProfile, ModelRequest } from '../../src/domain/model.ts';
import type { PolicyInput } from '../../src/domain/policy.ts';
import { type ScriptedOutcome, scriptedModel } from '../../src/providers/scripted.ts';

export interface AgentOptions {
  readonly decide?: (request: ModelRequest) => ScriptedOutcome;
  readonly tools?: readonly Tool[];
  readonly policy?: PolicyInput;
  readonly profile?: Partial<ModelProfile>;
  readonly maxSteps?: number;
}

const WORDS = ['word', 'order', 'table', 'river', 'stone', 'garden', 'window', 'market'];

/** A text of so many tokens: each word is one. */
export function words(count: number): string {
  return Array.from({ length: count }, (_, index) => ` ${WORDS[index % WORDS.length]}`).join('');
}

/** An agent that repeats its input, unless a test decides otherwise. */
export function agentOf(options: AgentOptions = {}): Agent {
  const { decide = ({ messages }) => ({ content: `heard ${messages.at(-1)?.content}` }), tools = [] } = options;
  const { policy = {}, profile = {}, maxSteps } = options;
  return {
    name: 'guide',
    system: 'You guide.',
    model: scriptedModel({ decide, profile }),
    tools,
    policy,
    ...(maxSteps !== undefined && { maxSteps }),
  };
}

/** How many model steps the turn has taken before this request. */
export function countSteps({ idempotencyKey }: ModelRequest): number {
  return Number(/model-(\d+)$/.exec(idempotencyKey)?.[1]) - 1;
}

/** A tool that answers by what a test gives it. */
export function toolOf(name: string, run: () => Promise<string>): Tool {
  return defineTool({ name, description: '', input: z.object({}), run });
}

/** The agent of processes that die: two calls and an answer, in a window that its turns outgrow. */
export function createMortalAgent(): Agent {
  return agentOf({
    decide: (request) => {
      const steps = countSteps(request);
      return steps < 2
        ? { content: `step ${steps}`, toolCalls: [{ name: 'look', arguments: {} }] }
        : { content: 'done' };
    },
    tools: [toolOf('look', async () => words(400))],
    policy: { retentionWindow: 2, turnThreshold: 3 },
  });
}

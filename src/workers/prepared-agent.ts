import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Agent } from '../domain/agent.ts';
import { checkLimits, type Limits, resolveLimits } from '../domain/limits.ts';
import type { Message, WeighedMessage, Weight } from '../domain/message.ts';
import type { ModelProfile, ToolDescription } from '../domain/model.ts';
import { completePolicy, mergePolicies, type Policy, type PolicyInput } from '../domain/policy.ts';
import type { TokenCounter } from '../domain/ports/token-counter.ts';
import type { RequestOverhead } from '../domain/size.ts';
import { bytesOfMessage, countMessage, countMessageSync } from '../tokens/message-tokens.ts';

/** An agent with all that is computed from it once, when the worker starts. */
export interface PreparedAgent {
  readonly agent: Agent;
  readonly policy: Policy;
  readonly limits: Limits;
  /** what every request of the agent holds before its first message, and how far counts are off for its model now */
  readonly overhead: RequestOverhead;
  readonly tools: readonly ToolDescription[];
  readonly counter: TokenCounter;
  readonly hashes: { readonly policy: string; readonly system: string; readonly tools: string };
  weigh(message: Message): Promise<WeighedMessage>;
  /** at once, for a message of at most some thousand tokens */
  weighNow(message: Message): Weight;
}

/** The agents that a worker can answer for, by name. */
export interface PreparedAgents {
  find(name: string): PreparedAgent | undefined;
}

export interface AgentSurroundings {
  readonly loadCounter: (encoding: ModelProfile['encoding']) => Promise<TokenCounter>;
  /** a model's calibration as it is known now */
  readonly factorOf?: (model: string) => number;
}

/** @throws invalid_policy where the agent's policy cannot work with its model, system prompt and tools */
export async function prepareAgent(
  agent: Agent,
  basePolicy: PolicyInput,
  { loadCounter, factorOf = () => 1 }: AgentSurroundings,
): Promise<PreparedAgent> {
  const counter = await loadCounter(agent.model.profile.encoding);
  const policy = completePolicy(mergePolicies(basePolicy, agent.policy));
  const limits = resolveLimits(policy, agent.model.profile);
  const tools = agent.tools.map(({ name, description, input }) => ({
    name,
    description,
    parameters: z.toJSONSchema(input, { io: 'input' }) as Record<string, unknown>,
  }));
  const toolText = tools.length === 0 ? '' : JSON.stringify(tools);
  const systemTokens = await counter.count(agent.system);
  const toolTokens = await counter.count(toolText);
  const fixed = {
    tokens: systemTokens + toolTokens,
    bytes: Buffer.byteLength(agent.system) + Buffer.byteLength(toolText),
  };
  checkLimits(policy, limits, { systemTokens, toolTokens, pinTokens: 0 });
  return {
    agent,
    policy,
    limits,
    get overhead() {
      return { ...fixed, calibration: factorOf(agent.model.profile.id) };
    },
    tools,
    counter,
    hashes: { policy: hashOf(JSON.stringify(policy)), system: hashOf(agent.system), tools: hashOf(toolText) },
    weigh: async (message) => ({
      message,
      tokens: await countMessage(counter, message),
      bytes: bytesOfMessage(message),
    }),
    weighNow: (message) => ({ tokens: countMessageSync(counter, message), bytes: bytesOfMessage(message) }),
  };
}

/** Short enough for keys, long enough that two contents of one conversation do not meet. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

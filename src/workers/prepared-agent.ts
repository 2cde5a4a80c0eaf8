import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Agent } from '../domain/agent.ts';
import { TurnfoldError } from '../domain/errors.ts';
import { checkLimits, type Limits, resolveLimits } from '../domain/limits.ts';
import type { Message, WeighedMessage, Weight } from '../domain/message.ts';
import type { ModelProfile, ToolDescription } from '../domain/model.ts';
import { completePolicy, mergePolicies, type Policy, type PolicyInput } from '../domain/policy.ts';
import type { TokenCounter } from '../domain/ports/token-counter.ts';
import { RECALL } from '../domain/recall.ts';
import type { RequestOverhead } from '../domain/size.ts';
import { bytesOfMessage, countMessage, countMessageSync } from '../tokens/message-tokens.ts';
import { Recall } from './turn/recall.ts';
import { TOOL_RESULT_MAX_TOKENS } from './turn/tool-result-clip.ts';

/** An agent with all that is computed from it once, when the worker starts. */
export interface PreparedAgent {
  readonly agent: Agent;
  readonly policy: Policy;
  readonly limits: Limits;
  /** what every request of the agent holds before its first message, and how far counts are off for its model now */
  readonly overhead: RequestOverhead;
  /** its own, and the built-in one where it has that */
  readonly tools: readonly ToolDescription[];
  readonly recall?: Recall;
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

/** What every provider takes as a tool's name. */
const LEGAL_TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/**
 * @throws invalid_policy where the agent's policy cannot work with its model, system prompt and tools; invalid_config where a
 * tool has a name that no provider takes, or another's
 */
export async function prepareAgent(
  agent: Agent,
  basePolicy: PolicyInput,
  { loadCounter, factorOf = () => 1 }: AgentSurroundings,
): Promise<PreparedAgent> {
  checkToolNames(agent);
  const counter = await loadCounter(agent.model.profile.encoding);
  const policy = completePolicy(mergePolicies(basePolicy, agent.policy));
  const limits = resolveLimits(policy, agent.model.profile);
  const { toolResultMaxTokens = TOOL_RESULT_MAX_TOKENS } = agent;
  const recall = agent.recall === true ? new Recall(counter, toolResultMaxTokens) : undefined;
  const tools = [...agent.tools, ...(recall === undefined ? [] : [recall])].map(({ name, description, input }) => ({
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
  const hashes = { policy: hashOf(JSON.stringify(policy)), system: hashOf(agent.system), tools: hashOf(toolText) };
  const { id } = agent.model.profile;
  const setup = hashOf([id, hashes.system, hashes.tools].join('\n')).slice(0, 12);
  checkLimits(policy, limits, { systemTokens, toolTokens, pinTokens: 0 });
  return {
    agent,
    policy,
    limits,
    get overhead() {
      return { ...fixed, calibration: factorOf(id), setup };
    },
    tools,
    ...(recall && { recall }),
    counter,
    hashes,
    weigh: async (message) => ({
      message,
      tokens: await countMessage(counter, message),
      bytes: bytesOfMessage(message),
    }),
    weighNow: (message) => ({ tokens: countMessageSync(counter, message), bytes: bytesOfMessage(message) }),
  };
}

/** An answer has to name the tool as it is registered, so that no name can be mended when it is sent. */
function checkToolNames({ name: agent, tools, recall }: Agent): void {
  const names = new Set<string>();
  for (const [index, { name }] of tools.entries()) {
    const field = `agents.${agent}.tools[${index}].name`;
    const isBuiltIn = recall === true && name === RECALL;
    const isTwin = names.has(name);
    if (isBuiltIn || isTwin || !LEGAL_TOOL_NAME.test(name)) {
      const taken = isBuiltIn ? 'the built-in tool has this name' : 'two tools have this name';
      const fault = isBuiltIn || isTwin ? taken : "a tool's name must match [a-zA-Z0-9_-]{1,64}";
      throw new TurnfoldError('invalid_config', `${field}: ${fault}`, { field });
    }
    names.add(name);
  }
}

/** Short enough for keys, long enough that two contents of one conversation do not meet. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

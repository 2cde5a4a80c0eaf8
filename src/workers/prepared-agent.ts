import { z } from 'zod';
import type { Agent, Tool } from '../domain/agent.ts';
import { TurnfoldError } from '../domain/errors.ts';
import { checkLimits, type Limits, resolveLimits } from '../domain/limits.ts';
import type { Message, WeighedMessage, Weight } from '../domain/message.ts';
import type { ModelProfile, ToolDescription } from '../domain/model.ts';
import { completePolicy, mergePolicies, type Policy, type PolicyInput } from '../domain/policy.ts';
import type { TokenCounter } from '../domain/ports/token-counter.ts';
import type { RequestOverhead } from '../domain/size.ts';
import { bytesOfMessage, countMessage, countMessageSync } from '../tokens/message-tokens.ts';
import { checkParameters, checkTools } from './check-tools.ts';
import { type FixedTexts, fixTexts, hashOf } from './fixed-texts.ts';
import { Recall } from './turn/recall.ts';
import { TOOL_RESULT_MAX_TOKENS } from './turn/tool-result-clip.ts';

/** An agent with all that is computed from it once, when the worker starts. */
export interface PreparedAgent {
  readonly agent: Agent;
  readonly policy: Policy;
  /** its system prompt, and the pins of its policy */
  readonly system: string;
  readonly limits: Limits;
  /** what every request of the agent holds before its first message, and how far counts are off for its model now */
  readonly overhead: RequestOverhead;
  /** its own, and the built-in one where it has that */
  readonly tools: readonly ToolDescription[];
  readonly recall?: Recall;
  readonly counter: TokenCounter;
  readonly hashes: FixedTexts['hashes'] & { readonly policy: string };
  readonly texts: FixedTexts['byHash'];
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

/**
 * @param agent with its policy as `readPolicy` has it, and so `basePolicy`: they are merged, and not read
 * @throws invalid_policy where the agent's policy cannot work with its model, system prompt and tools; invalid_config for its
 * tools (`checkTools`, `checkParameters`)
 */
export async function prepareAgent(
  agent: Agent,
  basePolicy: PolicyInput,
  { loadCounter, factorOf = () => 1 }: AgentSurroundings,
): Promise<PreparedAgent> {
  checkTools(agent);
  const counter = await loadCounter(agent.model.profile.encoding);
  const policy = completePolicy(mergePolicies(basePolicy, agent.policy));
  const limits = resolveLimits(policy, agent.model.profile);
  const { toolResultMaxTokens = TOOL_RESULT_MAX_TOKENS } = agent;
  const recall = agent.recall === true ? new Recall(counter, toolResultMaxTokens) : undefined;
  const tools = describeTools(agent, recall);
  const texts = fixTexts(agent, policy, tools);
  const systemTokens = await counter.count(agent.system);
  const pinTokens = (await counter.count(texts.system)) - systemTokens;
  const toolTokens = await counter.count(texts.tools);
  const fixed = {
    tokens: systemTokens + pinTokens + toolTokens,
    pinTokens,
    bytes: Buffer.byteLength(texts.system) + Buffer.byteLength(texts.tools),
  };
  const { id } = agent.model.profile;
  const setup = hashOf([id, texts.system, texts.tools].join('\n')).slice(0, 12);
  checkLimits(policy, limits, { systemTokens, toolTokens, pinTokens });
  return {
    agent,
    policy,
    system: texts.system,
    limits,
    get overhead() {
      return { ...fixed, calibration: factorOf(id), setup };
    },
    tools,
    ...(recall && { recall }),
    counter,
    hashes: { ...texts.hashes, policy: hashOf(JSON.stringify(policy)) },
    texts: texts.byHash,
    weigh: async (message) => ({
      message,
      tokens: await countMessage(counter, message),
      bytes: bytesOfMessage(message),
    }),
    weighNow: (message) => ({ tokens: countMessageSync(counter, message), bytes: bytesOfMessage(message) }),
  };
}

/** @throws invalid_config where a tool's input has no schema that providers take: a model could not be told of it */
function describeTools(agent: Agent, recall: Recall | undefined): ToolDescription[] {
  return [...agent.tools, ...(recall === undefined ? [] : [recall])].map(({ name, description, input }, index) => {
    const field = `agents.${agent.name}.tools[${index}].input`;
    const parameters = describeInput(input, field);
    checkParameters(parameters, field);
    return { name, description, parameters };
  });
}

function describeInput(input: Tool['input'], field: string): ToolDescription['parameters'] {
  try {
    return z.toJSONSchema(input, { io: 'input' });
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new TurnfoldError('invalid_config', `${field}: ${why}`, { field, cause });
  }
}

import { z } from 'zod';
import type { Agent, Tool } from '../domain/agent.ts';
import { TurnfoldError } from '../domain/errors.ts';
import type { ConversationRef } from '../domain/ids.ts';
import { checkLimits, type Limits, resolveLimits } from '../domain/limits.ts';
import type { Message, WeighedMessage, Weight } from '../domain/message.ts';
import type { ModelProfile, ToolDescription } from '../domain/model.ts';
import { completePolicy, mergePolicies, type Policy, type PolicyInput } from '../domain/policy.ts';
import type { ContextReader } from '../domain/ports/context-store.ts';
import type { TokenCounter } from '../domain/ports/token-counter.ts';
import type { RequestOverhead } from '../domain/size.ts';
import { describeThrown } from '../domain/thrown.ts';
import { bytesOfMessage, countMessage, countMessageSync } from '../tokens/message-tokens.ts';
import { checkParameters, checkTools } from './check-tools.ts';
import { type FixedTexts, fixTexts, hashOf } from './fixed-texts.ts';
import { Recall } from './turn/recall.ts';
import { TOOL_RESULT_MAX_TOKENS } from './turn/tool-result-clip.ts';

/** An agent with all that is computed from it once, when the worker starts. */
export interface PreparedAgent {
  readonly agent: Agent;
  readonly policy: Policy;
  /** its system prompt, without one where a function writes it for each turn, and the pins of its policy */
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
  /** the same agent under a system prompt that its function wrote */
  withSystem(prompt: string): Promise<PreparedAgent>;
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

/** Counting a system prompt of 10,000 tokens takes about 5 ms, and most turns of an agent share a few. */
const KEPT_PROMPTS = 32;

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
  const parts = { agent, policy, limits, tools, counter, factorOf, ...(recall && { recall }) };
  const prompts = new Map<string, Promise<PreparedAgent>>();
  const withSystem = async (prompt: string): Promise<PreparedAgent> => {
    const known = prompts.get(prompt);
    if (known !== undefined) return await known;
    const fixed = fixAgent(parts, prompt, withSystem).then(({ prepared }) => prepared);
    prompts.set(prompt, fixed);
    const [oldest] = prompts.keys();
    if (prompts.size > KEPT_PROMPTS && oldest !== undefined) prompts.delete(oldest);
    return await fixed;
  };
  // What a function will write is not known before a turn.
  const { prepared, tokens } = await fixAgent(parts, typeof agent.system === 'string' ? agent.system : '', withSystem);
  checkLimits(policy, limits, tokens);
  return prepared;
}

interface AgentParts extends Pick<PreparedAgent, 'agent' | 'policy' | 'limits' | 'tools' | 'counter' | 'recall'> {
  readonly factorOf: (model: string) => number;
}

/** An agent under one system prompt, with what its parts weigh. */
async function fixAgent(
  { factorOf, ...parts }: AgentParts,
  prompt: string,
  withSystem: PreparedAgent['withSystem'],
): Promise<{ readonly prepared: PreparedAgent; readonly tokens: Parameters<typeof checkLimits>[2] }> {
  const { agent, policy, tools, counter } = parts;
  const texts = fixTexts(prompt, policy, tools);
  const systemTokens = await counter.count(prompt);
  const pinTokens = (await counter.count(texts.system)) - systemTokens;
  const toolTokens = await counter.count(texts.tools);
  const fixed = {
    tokens: systemTokens + pinTokens + toolTokens,
    pinTokens,
    bytes: Buffer.byteLength(texts.system) + Buffer.byteLength(texts.tools),
  };
  const { id } = agent.model.profile;
  const fingerprint = hashOf([id, texts.system, texts.tools].join('\n')).slice(0, 12);
  const prepared: PreparedAgent = {
    ...parts,
    system: texts.system,
    get overhead() {
      return { ...fixed, calibration: factorOf(id), fingerprint };
    },
    hashes: { ...texts.hashes, policy: hashOf(JSON.stringify(policy)) },
    texts: texts.byHash,
    weigh: async (message) => ({
      message,
      tokens: await countMessage(counter, message),
      bytes: bytesOfMessage(message),
    }),
    weighNow: (message) => ({ tokens: countMessageSync(counter, message), bytes: bytesOfMessage(message) }),
    withSystem,
  };
  return { prepared, tokens: { systemTokens, toolTokens, pinTokens } };
}

/**
 * The agent as the conversation's last turn had it: for passes, which belong to no turn and have no context. Before the first
 * turn, an agent whose prompt a function writes counts without one.
 */
export async function prepareAsLastTurn(
  contexts: Pick<ContextReader, 'readSystem'>,
  conversation: ConversationRef,
  prepared: PreparedAgent,
): Promise<PreparedAgent> {
  if (typeof prepared.agent.system === 'string') return prepared;
  const system = await contexts.readSystem(conversation);
  return system === undefined ? prepared : await prepared.withSystem(system);
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
    const { message } = describeThrown(cause);
    throw new TurnfoldError('invalid_config', `${field}: ${message}`, { field, cause });
  }
}

import type { Agent } from '../domain/agent.ts';
import type { ConversationRef } from '../domain/ids.ts';
import { checkLimits, type Limits, resolveLimits } from '../domain/limits.ts';
import type { Message, WeighedMessage, Weight } from '../domain/message.ts';
import type { ModelProfile, PictureFormula, ToolDescription } from '../domain/model.ts';
import { completePolicy, mergePolicies, type Policy, type PolicyInput } from '../domain/policy.ts';
import type { ProviderSchema } from '../domain/provider-schema.ts';
import { type RequestFacts, readFacts } from '../domain/request-facts.ts';
import type { RequestOverhead } from '../domain/size.ts';
import { readTurnOwn, type TurnOwn } from '../domain/turn-own.ts';
import type { ContextReader } from '../store/contexts.ts';
import { bytesOfMessage, countMessage, countMessageSync } from '../wire/tokens/message-tokens.ts';
import { findPictureFormula } from '../wire/tokens/picture-tokens.ts';
import type { TokenCounter } from '../wire/tokens/token-counter.ts';
import { hashOf } from './content-hash.ts';
import { checkTools, type DescribedAgent, describeAgent } from './described-agent.ts';
import { findRefusedPart, joinOwn } from './own-parts.ts';
import { LineIndexes } from './recall/line-indexes.ts';
import { Recall } from './recall/recall.ts';
import { TOOL_RESULT_MAX_TOKENS } from './turn/tool-output.ts';

/** An agent, with the values that a worker computes once when it starts. */
export interface PreparedAgent {
  readonly agent: Agent;
  readonly policy: Policy;
  /** System prompt and pins, as sent. If a function writes the prompt, this text has only the pins. */
  readonly system: string;
  readonly limits: Limits;
  readonly overhead: RequestOverhead;
  /** Sizes and limits of the agent's requests, for readers that do not know the agent. */
  readonly facts: RequestFacts;
  /** Tools of the agent, and the recall tool. */
  readonly tools: readonly ToolDescription[];
  readonly recall?: Recall;
  /** Schema of final answers, for a provider that forces its model to follow a schema. */
  readonly answerSchema?: ProviderSchema;
  readonly counter: TokenCounter;
  /** Tokens that the model's provider counts for images. */
  readonly pictures: PictureFormula;
  readonly hashes: FixedTexts['hashes'] & { readonly policy: string };
  readonly texts: FixedTexts['byHash'];
  weigh(message: Message): Promise<WeighedMessage>;
  /** Counts a message without waiting. For messages of up to some thousand tokens. */
  weighNow(message: Message): Weight;
  withSystem(prompt: string): Promise<PreparedAgent>;
  /** The agent with what a turn brings. `hashes` and `texts` stay, because versions show only what lasts. */
  withOwn(own: TurnOwn): Promise<PreparedAgent>;
  /** Tokens of what the turn brings. Absent if it brings nothing. */
  readonly ownTokens?: { readonly tools: number; readonly instructions: number };
}

export interface PreparedAgents {
  find(name: string): PreparedAgent | undefined;
}

export type FactorOf = (model: string, initial?: number) => number;

export interface AgentSurroundings {
  readonly loadCounter: (encoding: ModelProfile['encoding']) => Promise<TokenCounter>;
  /** Calibration factor of a model. Default: `initial`. */
  readonly factorOf?: FactorOf;
  /** Indexes for recall, which all agents of a process share. Default: the agent has its own. */
  readonly lineIndexes?: LineIndexes;
}

interface FixedTexts {
  /** Tools as JSON. Empty if the agent has no tools. */
  readonly tools: string;
  readonly hashes: Readonly<Record<'system' | 'tools' | 'pins', string>>;
  /** Texts by hash. Old versions refer to these texts by hash, so that a person can still read them. */
  readonly byHash: ReadonlyMap<string, string>;
}

/** Number of prompts, and of things that turns bring, whose counts are cached. Counting 10,000 tokens takes about 5 ms. */
const KEPT_VARIANTS = 32;

/**
 * @param agent with its `policy` and `basePolicy` as `readPolicy` returns them
 * @throws invalid_policy if the policy cannot work with the model, system prompt and tools. invalid_config for invalid
 * tools.
 */
export async function prepareAgent(
  agent: Agent,
  basePolicy: PolicyInput,
  { loadCounter, factorOf = (_, initial = 1) => initial, lineIndexes = new LineIndexes() }: AgentSurroundings,
): Promise<PreparedAgent> {
  checkTools(agent);
  const counter = await loadCounter(agent.model.profile.encoding);
  const policy = completePolicy(mergePolicies(basePolicy, agent.policy));
  const limits = resolveLimits(policy, agent.model.profile);
  const { toolResultMaxTokens = TOOL_RESULT_MAX_TOKENS } = agent;
  const recall = agent.recall === true ? new Recall(counter, toolResultMaxTokens, lineIndexes) : undefined;
  const parts = {
    agent,
    policy,
    limits,
    counter,
    factorOf,
    ...(recall && { recall }),
    ...describeAgent(agent, recall),
  };
  const variants = new Map<string, Promise<PreparedAgent>>();
  const vary: Vary = async (prompt, own) => {
    const key = JSON.stringify([prompt, own]);
    const known = variants.get(key);
    if (known !== undefined) return await known;
    const fixed = fixAgent(parts, { prompt, own }, vary).then(({ prepared }) => prepared);
    variants.set(key, fixed);
    fixed.catch(() => variants.get(key) === fixed && variants.delete(key));
    const [oldest] = variants.keys();
    if (variants.size > KEPT_VARIANTS && oldest !== undefined) variants.delete(oldest);
    return await fixed;
  };
  // If a function writes the prompt, it is unknown before a turn, so an empty text is counted.
  const prompt = typeof agent.system === 'string' ? agent.system : '';
  const { prepared, tokens } = await fixAgent(parts, { prompt }, vary);
  checkLimits(policy, limits, tokens);
  return prepared;
}

type Vary = (prompt: string, own?: TurnOwn) => Promise<PreparedAgent>;

interface AgentParts extends Pick<PreparedAgent, 'agent' | 'policy' | 'limits' | 'counter' | 'recall'>, DescribedAgent {
  readonly factorOf: FactorOf;
}

interface Variant {
  readonly prompt: string;
  readonly own?: TurnOwn | undefined;
}

interface SentTexts extends DescribedAgent {
  readonly agent: Agent;
  readonly prompt: string;
  /** Tools as JSON. Empty without tools. */
  readonly toolList: string;
  /** Instructions behind the pins. */
  readonly last: string;
}

/** Instructions of a turn come last, so that they do not invalidate the provider's cache of the prompt. */
function writeSent({ agent, recall, ...described }: AgentParts, { prompt, own }: Variant): SentTexts {
  const { instruction = '' } = described;
  const lasting = joinTexts([prompt, instruction]);
  if (own === undefined)
    return { ...described, agent, prompt: lasting, toolList: writeList(described.tools), last: '' };
  const joined = joinOwn(agent, own);
  const { answerSchema, instruction: asked = '', tools } = describeAgent(joined, recall);
  const name = own.answer?.name;
  const last = joinTexts([own.instructions ?? '', own.answer === undefined ? '' : asked]);
  return {
    agent: joined,
    tools,
    ...(answerSchema && { answerSchema: { ...answerSchema, ...(name !== undefined && { name }) } }),
    prompt: own.answer === undefined ? lasting : prompt,
    toolList: writeList(tools),
    last,
  };
}

function joinTexts(texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join('\n\n');
}

async function fixAgent(
  parts: AgentParts,
  variant: Variant,
  vary: Vary,
): Promise<{ readonly prepared: PreparedAgent; readonly tokens: Parameters<typeof checkLimits>[2] }> {
  const { policy, limits, counter, recall, factorOf, instruction = '' } = parts;
  const { prompt: written, own } = variant;
  const texts = fixTexts(joinTexts([written, instruction]), policy, parts.tools);
  const { agent, prompt, tools, toolList, last, answerSchema } = writeSent(parts, variant);
  const pinned = joinTexts([prompt, ...policy.pins]);
  const system = joinTexts([pinned, last]);
  const promptTokens = await counter.count(prompt);
  const pinTokens = (await counter.count(pinned)) - promptTokens;
  const lastTokens = last === '' ? 0 : (await counter.count(system)) - promptTokens - pinTokens;
  const toolTokens = await counter.count(toolList);
  const lastingTools = toolList === texts.tools ? toolTokens : await counter.count(texts.tools);
  const systemTokens = promptTokens + lastTokens;
  const fixed = {
    tokens: systemTokens + pinTokens + toolTokens,
    pinTokens,
    bytes: Buffer.byteLength(system) + Buffer.byteLength(toolList),
  };
  const { id, tokenFactor } = agent.model.profile;
  const pictures = findPictureFormula(agent.model.profile);
  const fingerprint = hashOf([id, system, toolList].join('\n')).slice(0, 12);
  const prepared: PreparedAgent = {
    agent,
    policy,
    limits,
    counter,
    ...(recall && { recall }),
    ...(answerSchema && { answerSchema }),
    tools,
    system,
    pictures,
    facts: readFacts(agent.model.profile, parts, { systemTokens, toolTokens, pinTokens }),
    get overhead() {
      return { ...fixed, calibration: factorOf(id, tokenFactor), fingerprint };
    },
    hashes: { ...texts.hashes, policy: hashOf(JSON.stringify(policy)) },
    texts: texts.byHash,
    weigh: async (message) => ({
      message,
      tokens: await countMessage(counter, message, pictures),
      bytes: bytesOfMessage(message),
    }),
    weighNow: (message) => ({ tokens: countMessageSync(counter, message, pictures), bytes: bytesOfMessage(message) }),
    withSystem: async (next) => await vary(next, own),
    withOwn: async (next) => await vary(written, next),
    ...(own && { ownTokens: { tools: toolTokens - lastingTools, instructions: lastTokens } }),
  };
  return { prepared, tokens: { systemTokens, toolTokens, pinTokens } };
}

/** Pins come last, so that changed pins do not invalidate the provider's cache of the prompt. */
function fixTexts(prompt: string, { pins }: Policy, descriptions: readonly ToolDescription[]): FixedTexts {
  const tools = writeList(descriptions);
  const texts = { system: prompt, tools, pins: writeList(pins) };
  const hashes = { system: hashOf(texts.system), tools: hashOf(texts.tools), pins: hashOf(texts.pins) };
  const present = Object.values(texts).filter((text) => text !== '');
  return {
    tools,
    hashes,
    byHash: new Map(present.map((text) => [hashOf(text), text])),
  };
}

function writeList(items: readonly unknown[]): string {
  return items.length === 0 ? '' : JSON.stringify(items);
}

/**
 * Prepares the agent of a pass: with the prompt of the last turn, and with what the first open turn brings. A prompt by
 * a function is empty before the first turn.
 */
export async function prepareAsLastTurn(
  contexts: Pick<ContextReader, 'readSystem' | 'readOwn'>,
  conversation: ConversationRef,
  prepared: PreparedAgent,
): Promise<PreparedAgent> {
  const hasFixed = typeof prepared.agent.system === 'string';
  const [system, json] = await Promise.all([
    hasFixed ? undefined : contexts.readSystem(conversation),
    contexts.readOwn(conversation),
  ]);
  const prompted = system === undefined ? prepared : await prepared.withSystem(system);
  const own = json === undefined ? undefined : readTurnOwn(json);
  // Such a turn fails before its first model call.
  const about = { hasParts: false, hasRecall: prepared.recall !== undefined };
  return own === undefined || findRefusedPart(prepared.agent, own, about) ? prompted : await prompted.withOwn(own);
}

import { z } from 'zod';
import { RECALL } from '../compaction/recall/message-lines.ts';
import type { Agent } from '../domain/agent.ts';
import { TurnfoldError } from '../domain/errors.ts';
import type { ConversationRef } from '../domain/ids.ts';
import { checkLimits, type Limits, resolveLimits } from '../domain/limits.ts';
import type { Message, WeighedMessage, Weight } from '../domain/message.ts';
import type { ModelProfile, PictureFormula, ToolDescription } from '../domain/model.ts';
import { completePolicy, mergePolicies, type Policy, type PolicyInput } from '../domain/policy.ts';
import { type ProviderSchema, toProviderSchema } from '../domain/provider-schema.ts';
import { type RequestFacts, readFacts } from '../domain/request-facts.ts';
import type { RequestOverhead } from '../domain/size.ts';
import { describeThrown } from '../domain/thrown.ts';
import { LEGAL_TOOL_NAME, NOT_AT_THE_TOP } from '../domain/turn-own.ts';
import type { ContextReader } from '../store/contexts.ts';
import { bytesOfMessage, countMessage, countMessageSync } from '../wire/tokens/message-tokens.ts';
import { findPictureFormula } from '../wire/tokens/picture-tokens.ts';
import type { TokenCounter } from '../wire/tokens/token-counter.ts';
import { OPENAI_MAX_TOOLS } from '../wire/tools.ts';
import { hashOf } from './content-hash.ts';
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
  readonly system: string;
  /** Tools as JSON. Empty if the agent has no tools. */
  readonly tools: string;
  readonly hashes: Readonly<Record<'system' | 'tools' | 'pins', string>>;
  /** Texts by hash. Old versions refer to these texts by hash, so that a person can still read them. */
  readonly byHash: ReadonlyMap<string, string>;
}

/** Number of prompts of an agent whose counts are cached. Counting 10,000 tokens takes about 5 ms. */
const KEPT_PROMPTS = 32;

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
  const tools = [...agent.tools, ...(recall === undefined ? [] : [recall])].map(
    ({ name, description, input }, index) => {
      const parameters = describeObject(input, `agents.${agent.name}.tools[${index}].input`);
      return { name, description, parameters };
    },
  );
  const answers = prepareAnswers(agent);
  const parts = { agent, policy, limits, tools, counter, factorOf, ...(recall && { recall }), ...answers };
  const prompts = new Map<string, Promise<PreparedAgent>>();
  const withSystem = async (prompt: string): Promise<PreparedAgent> => {
    const known = prompts.get(prompt);
    if (known !== undefined) return await known;
    const fixed = fixAgent(parts, prompt, withSystem).then(({ prepared }) => prepared);
    prompts.set(prompt, fixed);
    fixed.catch(() => prompts.get(prompt) === fixed && prompts.delete(prompt));
    const [oldest] = prompts.keys();
    if (prompts.size > KEPT_PROMPTS && oldest !== undefined) prompts.delete(oldest);
    return await fixed;
  };
  // If a function writes the prompt, it is unknown before a turn, so an empty text is counted.
  const { prepared, tokens } = await fixAgent(parts, typeof agent.system === 'string' ? agent.system : '', withSystem);
  checkLimits(policy, limits, tokens);
  return prepared;
}

interface AgentParts
  extends Pick<PreparedAgent, 'agent' | 'policy' | 'limits' | 'tools' | 'counter' | 'recall' | 'answerSchema'> {
  readonly factorOf: FactorOf;
  /** Instruction that asks for the schema of the final answers, at the end of the system prompt. */
  readonly instruction?: string;
}

/** Lets a model learn the schema of final answers by its provider's own means, or else by the system prompt. */
function prepareAnswers(agent: Agent): Pick<AgentParts, 'answerSchema' | 'instruction'> {
  if (agent.answer === undefined) return {};
  const schema = describeObject(agent.answer, `agents.${agent.name}.answer`);
  const answerSchema = toProviderSchema(schema);
  if (answerSchema !== undefined && agent.model.profile.abilities?.structured === true) return { answerSchema };
  const { $schema: _, ...shown } = schema;
  const instruction = `Your final answer must be one JSON object that matches this JSON Schema, and nothing else:\n${JSON.stringify(shown)}`;
  return { instruction, ...(answerSchema && { answerSchema }) };
}

async function fixAgent(
  { factorOf, instruction, ...parts }: AgentParts,
  written: string,
  withSystem: PreparedAgent['withSystem'],
): Promise<{ readonly prepared: PreparedAgent; readonly tokens: Parameters<typeof checkLimits>[2] }> {
  const { agent, policy, tools, counter } = parts;
  const prompt = [written, instruction ?? ''].filter((text) => text !== '').join('\n\n');
  const texts = fixTexts(prompt, policy, tools);
  const systemTokens = await counter.count(prompt);
  const pinTokens = (await counter.count(texts.system)) - systemTokens;
  const toolTokens = await counter.count(texts.tools);
  const fixed = {
    tokens: systemTokens + pinTokens + toolTokens,
    pinTokens,
    bytes: Buffer.byteLength(texts.system) + Buffer.byteLength(texts.tools),
  };
  const { id, tokenFactor } = agent.model.profile;
  const pictures = findPictureFormula(agent.model.profile);
  const fingerprint = hashOf([id, texts.system, texts.tools].join('\n')).slice(0, 12);
  const prepared: PreparedAgent = {
    ...parts,
    system: texts.system,
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
    withSystem,
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
    system: [prompt, ...pins].filter((text) => text !== '').join('\n\n'),
    tools,
    hashes,
    byHash: new Map(present.map((text) => [hashOf(text), text])),
  };
}

function writeList(items: readonly unknown[]): string {
  return items.length === 0 ? '' : JSON.stringify(items);
}

/**
 * Prepares the agent of a pass, with the prompt of the last turn. A prompt by a function is empty before the first
 * turn.
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

/**
 * Checks names and number of the tools. Names are sent unchanged, because the model calls a tool by its name.
 * @throws invalid_config for an illegal or duplicate name, and for more tools than the provider accepts
 */
function checkTools({ name: agent, tools, recall, model }: Agent): void {
  const names = new Set<string>();
  for (const [index, { name }] of tools.entries()) {
    const fault = findNameFault(name, names, recall === true);
    if (fault !== undefined) {
      const field = `agents.${agent}.tools[${index}].name`;
      throw new TurnfoldError('invalid_config', `${field}: ${fault}`, { field });
    }
    names.add(name);
  }
  const count = tools.length + (recall === true ? 1 : 0);
  const { id, toolRefusal, abilities } = model.profile;
  const refusal = abilities?.tools === false ? `${id} calls no tools. Use another model` : toolRefusal;
  if (count > 0 && refusal !== undefined) {
    const field = `agents.${agent}.model`;
    throw new TurnfoldError('invalid_config', `${field}: ${refusal}`, { field });
  }
  const isOpenai = model.profile.format?.startsWith('openai') === true;
  if (!isOpenai || count <= OPENAI_MAX_TOOLS) return;
  const field = `agents.${agent}.tools`;
  const most = `${model.profile.id} accepts at most ${OPENAI_MAX_TOOLS}`;
  throw new TurnfoldError('invalid_config', `${field}: the agent has ${count} tools, but ${most}`, { field });
}

function findNameFault(name: string, names: ReadonlySet<string>, hasRecall: boolean): string | undefined {
  if (hasRecall && name === RECALL)
    return `the built-in recall tool already has the name "${RECALL}". Rename this tool`;
  if (names.has(name)) return 'another tool of this agent has the same name. Rename one of them';
  return LEGAL_TOOL_NAME.test(name) ? undefined : "a tool's name must match [a-zA-Z0-9_-]{1,64}";
}

/**
 * Describes the input of a tool, or the final answer of an agent, for a model.
 * @throws invalid_config if the schema has no JSON form, or does not describe one object, which providers require
 */
function describeObject(schema: z.ZodType, field: string): ToolDescription['parameters'] {
  const fail = (why: string, cause?: unknown): TurnfoldError =>
    new TurnfoldError('invalid_config', `${field}: ${why}`, { field, cause });
  let described: ToolDescription['parameters'];
  try {
    described = z.toJSONSchema(schema, { io: 'input' });
  } catch (cause) {
    throw fail(describeThrown(cause).message, cause);
  }
  const { type = 'object' } = described;
  const top = NOT_AT_THE_TOP.find((key) => key in described) ?? String(type);
  if (top === 'object') return described;
  throw fail(`the schema must be an object schema, but its top level is \`${top}\`. Wrap it: z.object({ value: … })`);
}

import { adoptMessages } from '../domain/history.ts';
import { MAX_RESERVE_TOKENS } from '../domain/limits.ts';
import type { Message, WeighedMessage } from '../domain/message.ts';
import { ModelError, type ModelProfile } from '../domain/model.ts';
import { completePolicy, type PolicyInput } from '../domain/policy.ts';
import { findProfile } from '../models/catalogue.ts';
import { createStructuralSummarizer } from '../models/structural/structural-summarizer.ts';
import { type PreparedAgent, prepareAgent } from '../workers/prepared-agent.ts';
import type { SummarizerChain } from './evaluated-passes.ts';
import { RememberedCounts } from './remembered-counts.ts';

/** A name for the command line, which does not import the workers. */
export type EvaluatedAgent = PreparedAgent;

/** Size limit of a request, given as tokens or as a model. Without either, no limit holds. */
export interface OfflineWindow {
  /** Most tokens of a request: a model's window without the reserve for the answer. */
  readonly usableTokens?: number;
  /** `provider/model` of the catalogue, for its window, tokenizer, upper bound factor and prices. */
  readonly model?: string;
}

/** Every share of this window is larger than any request. */
const NO_WINDOW = Number.MAX_SAFE_INTEGER;
/** Window of the scripted model, for a policy without sizes. */
const DEFAULT_WINDOW = 32_000;

/**
 * Prepares an agent for passes over recorded conversations. It calls no model, and has no prompt and no tools: those of the
 * recording are among its messages.
 * @param counts shared counters of all agents that replay the same conversations
 * @throws invalid_policy, invalid_config
 */
export async function prepareOfflineAgent(
  policy: PolicyInput,
  window: OfflineWindow,
  counts = new RememberedCounts(),
): Promise<PreparedAgent> {
  const profile = profileOf(window);
  const agent = { name: 'offline', system: '', tools: [], policy, model: { profile, generate: failCall } };
  return await prepareAgent(agent, {}, { loadCounter: (encoding) => counts.load(encoding) });
}

function failCall(): never {
  throw new ModelError('fatal', 'no model is called offline');
}

/** The default window of an evaluation: twice `maxTokens`, or the smallest larger window that the thresholds allow. */
export function suggestUsableTokens(input: PolicyInput): number {
  const { maxTokens, tokenThreshold = 0, hardRatio, thresholdRatio } = completePolicy(input);
  if (maxTokens === undefined) return Math.max(DEFAULT_WINDOW, Math.ceil(tokenThreshold / hardRatio));
  return Math.max(2 * maxTokens, Math.ceil(tokenThreshold / hardRatio), Math.ceil(maxTokens / thresholdRatio));
}

function profileOf({ usableTokens, model }: OfflineWindow): ModelProfile {
  const [, provider = '', name = ''] = /^([^/]+)\/(.+)$/.exec(model ?? '') ?? [];
  const found = model === undefined ? undefined : findProfile(provider, name || model);
  const reserve = Math.min(found?.outputCapTokens ?? MAX_RESERVE_TOKENS, MAX_RESERVE_TOKENS);
  const given = usableTokens === undefined ? {} : { windowTokens: usableTokens + reserve };
  const unknown = {
    id: 'offline',
    encoding: 'o200k_base' as const,
    windowTokens: NO_WINDOW,
    outputCapTokens: reserve,
    upperBoundFactor: 1,
  };
  return { ...(found ?? unknown), ...given };
}

/**
 * Adopts the messages of a file: gives them call ids of a log and counts each message once.
 * @throws orphan_result, duplicate_call
 */
export async function weighConversation(
  messages: readonly Message[],
  { weigh }: Pick<PreparedAgent, 'weigh'>,
): Promise<WeighedMessage[]> {
  return await Promise.all(adoptMessages(messages, 1).messages.map(weigh));
}

/** A chain of the structural summarizer alone. It calls no model. */
export async function createOfflineSummarizers(counts = new RememberedCounts()): Promise<SummarizerChain> {
  const counter = await counts.load('o200k_base');
  const structural = createStructuralSummarizer({ counter });
  return () => [structural];
}

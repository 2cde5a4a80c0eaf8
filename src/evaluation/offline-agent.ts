import { adoptMessages } from '../domain/history.ts';
import { MAX_RESERVE_TOKENS, type ModelWindow } from '../domain/limits.ts';
import type { Message, WeighedMessage } from '../domain/message.ts';
import { ModelError, type ModelProfile } from '../domain/model.ts';
import { completePolicy, type PolicyInput } from '../domain/policy.ts';
import { findProfile } from '../providers/catalogue/catalogue.ts';
import { createStructuralSummarizer } from '../summarize/structural/structural-summarizer.ts';
import { type PreparedAgent, prepareAgent } from '../workers/prepared-agent.ts';
import type { SummarizerChain } from './evaluated-passes.ts';
import { RememberedCounts } from './remembered-counts.ts';

/** Type for the command line, which must not import the workers. */
export type EvaluatedAgent = PreparedAgent;

/** Size limit of a request: tokens, or a model of the catalogue. If both are absent, there is no limit. */
export interface OfflineWindow {
  /** Tokens of the model's window minus the reserve for the answer. */
  readonly usableTokens?: number;
  /** Model as `provider/model`. Its window, tokenizer, upper bound factor and prices apply. */
  readonly model?: string;
  /** Limits that replace the limits of the catalogue. */
  readonly limits?: ModelWindow;
  /** Tokens of a request that are not messages, such as tools. */
  readonly reservedTokens?: number;
}

/** A window so large that no request reaches a threshold that is a share of the window. */
const NO_WINDOW = Number.MAX_SAFE_INTEGER;
/** Window in tokens for a policy without sizes. */
const DEFAULT_WINDOW = 32_000;

/**
 * Prepares an agent for passes over recorded conversations. The agent calls no model and needs no tools, because the
 * recording already has the tool results.
 * @param counts shared by agents that replay the same conversations
 * @param system prompt of the requests, if it is not among the messages
 * @throws invalid_policy if the policy cannot work with that window, and invalid_config for an unknown model
 */
export async function prepareOfflineAgent(
  policy: PolicyInput,
  window: OfflineWindow,
  counts = new RememberedCounts(),
  system = '',
): Promise<PreparedAgent> {
  const profile = profileOf(window);
  const agent = { name: 'offline', system, tools: [], policy, model: { profile, generate: failCall } };
  return await prepareAgent(agent, {}, { loadCounter: (encoding) => counts.load(encoding) });
}

function failCall(): never {
  throw new ModelError(
    'fatal',
    'an evaluation calls no model, but its agent was asked for an answer. This is a bug in turnfold',
  );
}

/** Twice `maxTokens`, or the smallest larger window for which the policy's thresholds are valid. */
export function suggestUsableTokens(input: PolicyInput): number {
  const { maxTokens, tokenThreshold = 0, hardRatio, thresholdRatio } = completePolicy(input);
  if (maxTokens === undefined) return Math.max(DEFAULT_WINDOW, Math.ceil(tokenThreshold / hardRatio));
  return Math.max(2 * maxTokens, Math.ceil(tokenThreshold / hardRatio), Math.ceil(maxTokens / thresholdRatio));
}

function profileOf({ usableTokens, model, limits, reservedTokens = 0 }: OfflineWindow): ModelProfile {
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
  const profile = { ...(found ?? unknown), ...limits, ...given };
  return { ...profile, windowTokens: profile.windowTokens - reservedTokens };
}

/**
 * Makes call ids unique, and counts each message once. @throws orphan_result or duplicate_call for an invalid history
 */
export async function weighConversation(
  messages: readonly Message[],
  { weigh }: Pick<PreparedAgent, 'weigh'>,
): Promise<WeighedMessage[]> {
  return await Promise.all(adoptMessages(messages, 1).messages.map(weigh));
}

/** Creates the one summarizer `structural`, which writes summaries by code. */
export async function createOfflineSummarizers(counts = new RememberedCounts()): Promise<SummarizerChain> {
  const counter = await counts.load('o200k_base');
  const structural = createStructuralSummarizer({ counter });
  return () => [structural];
}

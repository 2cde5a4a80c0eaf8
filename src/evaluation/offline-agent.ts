import { MAX_RESERVE_TOKENS } from '../domain/limits.ts';
import { ModelError, type ModelProfile } from '../domain/model.ts';
import { completePolicy, type PolicyInput } from '../domain/policy.ts';
import { findProfile } from '../models/catalogue.ts';
import { type PreparedAgent, prepareAgent } from '../workers/prepared-agent.ts';
import { RememberedCounts } from './remembered-counts.ts';

/** Workers' own form of an agent: what is decided over it is decided as they would. */
export type OfflineAgent = PreparedAgent;

/** What requests are measured against, where there is no model to ask. */
export interface OfflineWindow {
  /** most tokens of a request: a model's window without what it keeps for the answer */
  readonly usableTokens?: number;
  /** `provider/model` of the catalogue: its window, tokenizer, safety factor and prices */
  readonly model?: string;
}

/** Larger than any request: every share of it is, too. */
const NO_WINDOW = Number.MAX_SAFE_INTEGER;
/** Where a policy names no size at all: the scripted model's. */
const DEFAULT_WINDOW = 32_000;

/**
 * An agent that never answers, for passes over recorded conversations. It has no prompt and no tools of its own: those of the
 * recording stand in its messages.
 * @param counts of what is made offline over the same conversations
 * @throws invalid_policy, invalid_config
 */
export async function prepareOfflineAgent(
  policy: PolicyInput,
  window: OfflineWindow,
  counts = new RememberedCounts(),
): Promise<OfflineAgent> {
  const profile = profileOf(window);
  const agent = { name: 'offline', system: '', tools: [], policy, model: { profile, generate: refuseCall } };
  return await prepareAgent(agent, {}, { loadCounter: (encoding) => counts.load(encoding) });
}

function refuseCall(): never {
  throw new ModelError('fatal', 'no model is called offline');
}

/** The window that a policy is tried in: twice its `maxTokens`, or the smallest larger one that its thresholds allow. */
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

import { weighItems } from '../../compaction/context.ts';
import { explainPlanInSlices } from '../../compaction/explain.ts';
import type { ConversationRef } from '../../domain/ids.ts';
import { checkLimits, type FixedWeight, resolveLimits } from '../../domain/limits.ts';
import type { Message, Weight } from '../../domain/message.ts';
import { parseInput } from '../../domain/parse.ts';
import { completePolicy, mergePolicies, type PolicyInput } from '../../domain/policy.ts';
import { examinePolicy, readPolicy } from '../../domain/policy-input.ts';
import { limitsOf, type RequestFacts } from '../../domain/request-facts.ts';
import { contextSize, NO_OVERHEAD, type RequestOverhead } from '../../domain/size.ts';
import type { ContextItem, SeqRange } from '../../domain/version.ts';
import type { PassRequest } from '../../store/passes.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import { bytesOfMessage } from '../../wire/tokens/message-tokens.ts';
import type { Methods } from '../contract/client.ts';
import { readConversationName } from '../contract/names.ts';
import { dryRunSchema } from '../contract/versions.ts';
import { beingCopied, checkDurability, noConversation } from './client-errors.ts';
import { type InspectionPorts, readInspected, readRecentContext } from './inspected-version.ts';
import type { ClientPorts } from './ports.ts';

export const compactionMethods = {
  /** Joins an open pass, if any. @throws not_found, conversation_forking, fork_abandoned, accepted_unsure */
  compact: async (ports, name) => {
    const conversation = readConversationName(name);
    return await request(ports, { conversation, reasons: ['manual'], ...namePass(ports) });
  },
  /** @throws not_found, invalid_policy for a policy that cannot work */
  plan: async (ports, name, input = {}) => {
    const { policy: given } = parseInput(dryRunSchema, input);
    const { conversation, state, version } = await readInspected(ports, name, undefined);
    const context = await readRecentContext(ports, conversation, state, version.number);
    if (context === undefined) throw noConversation(conversation);
    // Problems of the recorded policy are ignored, because a damaged record must not stop a dry run.
    const recorded = examinePolicy(state.requestFacts?.policy).policy;
    const facts = completeRequest(mergePolicies(recorded, readPolicy(given).policy), state.requestFacts);
    const weigh = estimateWeights(context.items);
    const evidence = ports.readEvidence;
    const explained = await eventLoopShare.run(
      explainPlanInSlices({ ...facts, context, weigh, evidence, isEstimate: true }),
    );
    const { plan, tokensAfter, messages, protectedPositions } = explained;
    return {
      kind: plan.kind,
      reasons: plan.reasons,
      tokens: plan.tokens,
      tokensAfter,
      messages,
      summarize: plan.sequences.map(toRange),
      evict: plan.evict.map(toRange),
      mask: (plan.shorten ?? []).map(toRange),
      protected: protectedPositions.map((position) => context.items[position]?.from ?? 0),
    };
  },
} satisfies Methods<InspectionPorts>;

export type NewPass = Pick<PassRequest, 'passId' | 'wake'>;

export function namePass({ ids }: Pick<ClientPorts, 'ids'>): NewPass {
  return { passId: ids.next(), wake: ids.next() };
}

/** Requests a threshold check, unless the context is below the size that the last check stored for the next one. */
export async function requestEvaluation(
  ports: ClientPorts,
  conversation: ConversationRef,
  pass: NewPass,
): Promise<void> {
  const state = await ports.contexts.readConversation(conversation);
  if (state === undefined) return;
  const { appendsBelowMessageTokens = 0 } = state.backoff;
  if (contextSize(state.size, NO_OVERHEAD).tokens < appendsBelowMessageTokens) return;
  await request(ports, { conversation, reasons: [], ...pass });
}

async function request(ports: ClientPorts, pass: PassRequest): Promise<string> {
  const { conversation, wake } = pass;
  const result = await ports.passes.requestPass(pass);
  if (result.status === 'forking') throw beingCopied(conversation, result);
  if (!('passId' in result)) throw noConversation(conversation);
  if (result.needsWake) await ports.wakes.wake('pass', conversation, wake, { traceParent: ports.currentTrace() });
  checkDurability(result, { field: 'conversation', id: conversation.id });
  return result.passId;
}

/** Estimates sizes. A plan over 10,000 messages weighs 16,000 shortened ones: counting takes longer than the plan. */
function estimateWeights(items: readonly ContextItem[]): (message: Message) => Weight {
  const { tokens, bytes } = weighItems(items);
  const tokensOfByte = bytes === 0 ? 0 : tokens / bytes;
  return (message) => {
    const own = bytesOfMessage(message);
    return { tokens: Math.ceil(own * tokensOfByte), bytes: own };
  };
}

function toRange({ from, to }: SeqRange): SeqRange {
  return { from, to };
}

const NOTHING_FIXED: FixedWeight = { systemTokens: 0, toolTokens: 0, pinTokens: 0 };

function completeRequest(input: PolicyInput, facts: RequestFacts | undefined) {
  const policy = completePolicy(input);
  const limits = resolveLimits(policy, facts && limitsOf(facts));
  const { systemTokens, toolTokens, pinTokens } = facts ?? NOTHING_FIXED;
  checkLimits(policy, limits, { systemTokens, toolTokens, pinTokens });
  const overhead: RequestOverhead = {
    tokens: systemTokens + toolTokens + pinTokens,
    pinTokens,
    bytes: 0,
    calibration: 1,
  };
  return { policy, limits, overhead };
}

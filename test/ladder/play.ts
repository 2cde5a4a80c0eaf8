import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { isTurnfoldError } from '../../src/domain/errors.ts';
import type { EvictionStrategy } from '../../src/domain/eviction-strategy.ts';
import { adoptMessages } from '../../src/domain/history.ts';
import type { Message } from '../../src/domain/message.ts';
import type { Reason } from '../../src/domain/pass.ts';
import type { PolicyInput } from '../../src/domain/policy.ts';
import { EvaluatedPasses } from '../../src/evaluation/evaluated-passes.ts';
import { SCRIPTED_PROFILE, scriptedModel } from '../../src/providers/scripted.ts';
import type { BpeTokenCounter } from '../../src/wire/tokens/token-counter.ts';
import type { TrialOutcome } from '../../src/workers/compaction/trial-pass.ts';
import { type PreparedAgent, prepareAgent } from '../../src/workers/prepared-agent.ts';
import { findBreaches } from './checks.ts';
import { findEndBreaches } from './ends.ts';
import { findFitting } from './fill.ts';
import { chunks, longChunks } from './histories.ts';
import type { SeenPass } from './seen-pass.ts';
import { openChain, SUMMARIZERS } from './summarizers.ts';

/**
 * A history that grows in chunks, with a compaction pass after each chunk. One policy and one list of summarizers
 * apply.
 */
export interface Scenario {
  readonly chunks: readonly (readonly Message[])[];
  readonly policy: PolicyInput;
  readonly maxRequestBytes: number | undefined;
  readonly upperBoundFactor: number;
  readonly reasons: readonly (readonly Reason[])[];
  readonly summarizer: string;
  readonly isBacked: boolean;
}

const { strategy: strategies } = fc.letrec<{ strategy: EvictionStrategy; list: EvictionStrategy[] }>((tie) => ({
  strategy: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    fc.double({ min: 0.05, max: 1, noNaN: true }).map((evict) => ({ evict })),
    fc.nat(20).map((retain) => ({ retain })),
    tie('list').map((min) => ({ min })),
    tie('list').map((max) => ({ max })),
  ),
  list: fc.array(tie('strategy'), { minLength: 1, maxLength: 3 }),
}));

const sizes = fc.record({
  maxTokens: fc.oneof(fc.integer({ min: 60, max: 600 }), fc.integer({ min: 300, max: 6_000 })),
  threshold: fc.constantFrom(1, 1.3, 1.3, 2),
  strategy: strategies,
});

const settings: fc.Arbitrary<PolicyInput> = fc.record(
  {
    retentionWindow: fc.nat(10),
    scope: fc.constantFrom('sequences', 'sequences', 'prefix'),
    keepFirstUser: fc.boolean(),
    maskToolResults: fc.boolean(),
    minSequenceMessages: fc.integer({ min: 1, max: 4 }),
    minSequenceTokens: fc.nat(400),
    minGain: fc.constantFrom(0, 0.1, 0.4),
    pins: fc.array(fc.constantFrom('Be kind.', 'Never "quote"\n\tprices. 😀'), { maxLength: 1 }),
    messageThreshold: fc.constantFrom(1, 5, 1_000),
    turnThreshold: fc.integer({ min: 1, max: 5 }),
    onTurnEnd: fc.boolean(),
    thresholdRatio: fc.constantFrom(0.6, 0.85, 1),
    hardRatio: fc.constantFrom(0.7, 0.92, 1),
    mode: fc.constantFrom('auto', 'auto', 'auto', 'review', 'manual'),
  },
  { requiredKeys: ['retentionWindow'] },
);

const policies = fc.tuple(sizes, settings).map(([{ maxTokens, threshold, strategy }, given]): PolicyInput => {
  return { ...given, maxTokens, tokenThreshold: Math.ceil(maxTokens * threshold), strategy };
});

const reasons = fc.constantFrom<readonly Reason[]>(
  [],
  [],
  ['turn_end'],
  ['manual'],
  ['overflow'],
  ['turn_end', 'manual'],
);

function scenariosOver(histories: fc.Arbitrary<Scenario['chunks']>) {
  return histories.chain((given) =>
    fc.record<Scenario>({
      chunks: fc.constant(given),
      policy: policies,
      maxRequestBytes: fc.option(fc.integer({ min: 1_500, max: 30_000 }), { nil: undefined, freq: 4 }),
      upperBoundFactor: fc.constantFrom(1, 1, 1.1, 1.35),
      reasons: fc.array(reasons, { minLength: given.length, maxLength: given.length }),
      summarizer: fc.constantFrom(...SUMMARIZERS),
      isBacked: fc.boolean(),
    }),
  );
}

export const scenarios = scenariosOver(chunks);
export const longScenarios = scenariosOver(longChunks);

export interface Played {
  readonly outcomes: readonly TrialOutcome[];
  readonly versions: readonly SeenPass[];
  /** Names of the broken checks, with the number of the compaction pass. */
  readonly breaches: readonly string[];
}

/**
 * Runs all compaction passes of a scenario.
 * @returns undefined if the policy is refused or the messages are no valid history
 */
export async function play(scenario: Scenario, counter: BpeTokenCounter): Promise<Played | undefined> {
  const prepared = await prepare(scenario, counter);
  if (prepared === undefined) return undefined;
  const passes = new EvaluatedPasses(prepared, () => openChain(scenario.summarizer, scenario.isBacked, counter));
  const messages = adopt(scenario.chunks);
  if (messages === undefined) return undefined;
  const outcomes: TrialOutcome[] = [];
  const versions: SeenPass[] = [];
  const breaches: string[] = [];
  for (const [index, given] of messages.entries()) {
    for (const message of given) passes.conversation.append(await prepared.weigh(message));
    const before = { ...passes.conversation.context, items: [...passes.conversation.context.items] };
    const requested = scenario.reasons[index] ?? [];
    const known = new Set(passes.conversation.written.keys());
    const outcome = await passes.run(requested);
    outcomes.push(outcome);
    const { context: after, firstUserSeq } = passes.conversation;
    const written = [...passes.conversation.written].flatMap(([key, record]) =>
      known.has(key) || record.status === 'refused' ? [] : [record.summary.covers],
    );
    const end = { prepared, before, outcome, requested, firstUserSeq, written };
    const broken = findEndBreaches(end);
    if (outcome.kind === 'version') {
      const pass = { ...end, outcome, after: { ...after, items: [...after.items] } };
      versions.push(pass);
      broken.push(...findBreaches(pass), ...findFitting(pass));
    }
    breaches.push(...broken.map((name) => `${index}: ${name}`));
  }
  return { outcomes, versions, breaches };
}

/** Runs a scenario twice, each time from an empty conversation, and compares the results. */
export async function playTwice(scenario: Scenario, counter: BpeTokenCounter): Promise<Played | undefined> {
  const [played, again] = [await play(scenario, counter), await play(scenario, counter)];
  if (played === undefined || isDeepStrictEqual(played.outcomes, again?.outcomes)) return played;
  return { ...played, breaches: [...played.breaches, 'a second run ends differently'] };
}

async function prepare(scenario: Scenario, counter: BpeTokenCounter): Promise<PreparedAgent | undefined> {
  const { policy, maxRequestBytes, upperBoundFactor } = scenario;
  const windowTokens = SCRIPTED_PROFILE.outputCapTokens + Math.ceil(Math.max(8_000, (policy.maxTokens ?? 0) * 3));
  const profile = {
    ...SCRIPTED_PROFILE,
    id: 'model-1',
    windowTokens,
    upperBoundFactor,
    ...(maxRequestBytes !== undefined && { maxRequestBytes }),
  };
  const model = scriptedModel({ profile, steps: [] });
  const agent = { name: 'guide', system: 'Be brief.', tools: [], policy, model };
  try {
    return await prepareAgent(agent, {}, { loadCounter: async () => counter });
  } catch (error) {
    if (isTurnfoldError(error, 'invalid_policy')) return undefined;
    throw error;
  }
}

/** Gives the messages call ids as in a log, and freezes them, so that a compaction pass that changes one fails. */
function adopt(given: Scenario['chunks']): Message[][] | undefined {
  try {
    const all = adoptMessages(given.flat(), 1).messages;
    let start = 0;
    return given.map(({ length }) => {
      start += length;
      return all.slice(start - length, start).map(freeze);
    });
  } catch (error) {
    if (isTurnfoldError(error)) return undefined;
    throw error;
  }
}

function freeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) freeze(inner);
  return Object.freeze(value);
}

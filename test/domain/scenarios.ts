import * as fc from 'fast-check';
import { contextOfLog } from '../../src/compaction/context.ts';
import type { PlanRequest } from '../../src/compaction/plan.ts';
import type { EvictionStrategy } from '../../src/domain/eviction-strategy.ts';
import { buildLog, type Message, type WeighedMessage } from '../../src/domain/message.ts';
import { REASONS } from '../../src/domain/pass.ts';
import type { PassPlan } from '../../src/domain/pass-plan.ts';
import type { PolicyInput } from '../../src/domain/policy.ts';
import { START_VERSION } from '../../src/domain/version.ts';
import { type PassSetting, requestOver, type Story, type TakenPass, takePass } from './passes.ts';

interface Step {
  readonly kind: 'system' | 'user' | 'assistant' | 'summary' | 'call' | 'result';
  readonly tokens: number;
  /** Number of parallel tool calls. */
  readonly calls: number;
  /** Index of the unanswered call that a tool result answers. */
  readonly pick: number;
  readonly isPinned: boolean;
  readonly isDroppable: boolean;
}

/** A conversation that grows in chunks, with a compaction pass after each chunk. */
export interface Scenario {
  readonly chunks: readonly (readonly Step[])[];
  readonly settings: readonly PassSetting[];
  /** Size of each summary as a share of the messages that it replaces. `undefined` stands for a failed summary. */
  readonly shares: readonly (number | undefined)[];
}

/** @param users how often a user message occurs. It is rare in a long turn */
function stepsWith(users: number): fc.Arbitrary<Step> {
  return fc.record({
    kind: fc.oneof(
      { weight: 8, arbitrary: fc.constant('result' as const) },
      { weight: 4, arbitrary: fc.constant('call' as const) },
      { weight: 4, arbitrary: fc.constant('assistant' as const) },
      { weight: users, arbitrary: fc.constant('user' as const) },
      { weight: 1, arbitrary: fc.constantFrom('system' as const, 'summary' as const, 'user' as const) },
    ),
    tokens: fc.oneof(fc.nat(3), fc.integer({ min: 4, max: 200 }), fc.integer({ min: 4, max: 200 }), fc.nat(3_000)),
    calls: fc.oneof({ weight: 3, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: fc.integer({ min: 2, max: 8 }) }),
    pick: fc.nat(),
    isPinned: fc.integer({ min: 1, max: 40 }).map((roll) => roll === 40),
    isDroppable: fc.integer({ min: 1, max: 10 }).map((roll) => roll === 10),
  });
}

const growths = fc.constantFrom(4, 4, 0).chain((users) => fc.array(stepsWith(users), { maxLength: 40, size: 'max' }));

const { strategy: strategies } = fc.letrec<{ strategy: EvictionStrategy; list: EvictionStrategy[] }>((tie) => ({
  strategy: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.double({ min: 0.01, max: 1, noNaN: true }).map((evict) => ({ evict })),
    fc.nat(30).map((retain) => ({ retain })),
    tie('list').map((min) => ({ min })),
    tie('list').map((max) => ({ max })),
  ),
  list: fc.array(tie('strategy'), { minLength: 1, maxLength: 3 }),
}));

const policies: fc.Arbitrary<PolicyInput> = fc.record(
  {
    maxTokens: fc.oneof(fc.integer({ min: 1, max: 4_000 }), fc.integer({ min: 2_000, max: 20_000 })),
    retentionWindow: fc.nat(12),
    strategy: strategies,
    keepFirstUser: fc.boolean(),
    scope: fc.constantFrom('sequences' as const, 'sequences' as const, 'prefix' as const),
    minSequenceMessages: fc.integer({ min: 1, max: 4 }),
    minSequenceTokens: fc.nat(400),
    minGain: fc.constantFrom(0, 0.05, 0.1, 0.5),
  },
  { requiredKeys: [] },
);

const factors = fc.constantFrom(1, 1, 1.1, 1.25);
const models = fc.record({
  windowTokens: fc.integer({ min: 500, max: 10_000 }),
  outputCapTokens: fc.nat(300),
  upperBoundFactor: factors,
});

const overheads = fc.record({
  tokens: fc.nat(300),
  bytes: fc.nat(1_000),
  calibration: fc.constantFrom(1, 1, 0.83, 1.17),
});

const settings: fc.Arbitrary<PassSetting> = fc
  .record({
    policy: policies,
    reasons: fc.uniqueArray(fc.constantFrom(...REASONS), { minLength: 1, maxLength: 3 }),
    overhead: overheads,
    model: fc.option(models, { nil: undefined }),
  })
  .map(({ model, ...setting }) => (model === undefined ? setting : { ...setting, model }));

const shares = fc.oneof(
  { weight: 6, arbitrary: fc.double({ min: 0, max: 0.5, noNaN: true }) },
  { weight: 1, arbitrary: fc.constantFrom(1, 2) },
  { weight: 1, arbitrary: fc.constant(undefined) },
);

/** Any history, policy and reasons, with compaction passes in the middle and at the end. */
export const scenarios: fc.Arbitrary<Scenario> = fc.integer({ min: 1, max: 4 }).chain((passes) =>
  fc.record({
    chunks: fc.array(growths, { minLength: passes, maxLength: passes }),
    settings: fc.array(settings, { minLength: passes, maxLength: passes }),
    shares: fc.array(shares, { minLength: 1, maxLength: 12 }),
  }),
);

/** Plays a scenario and returns every compaction pass, with the messages that led to it. */
export function playScenario({ chunks, settings: given, shares: sizes }: Scenario): TakenPass[] {
  const messages = messagesOf(chunks.flat());
  const summarize = cycleShares(sizes);
  const passes: TakenPass[] = [];
  let story: Story = { version: START_VERSION, entries: [], summaries: new Map() };
  let head = 0;
  chunks.forEach((chunk, index) => {
    head += chunk.length;
    const entries = buildLog(messages.slice(0, head));
    const taken = takePass({ ...story, entries }, { ...(given[index] as PassSetting), summarize });
    passes.push(taken);
    story = taken.story;
  });
  return passes;
}

/** The input of the first compaction pass of a scenario. */
export function firstRequest({ chunks, settings: [setting] }: Scenario): PlanRequest {
  const entries = buildLog(messagesOf(chunks[0] ?? []));
  return requestOver(contextOfLog(entries, START_VERSION), setting);
}

/** Gives each range the next of these sizes. */
export function cycleShares(
  sizes: Scenario['shares'],
): (sequence: PassPlan['sequences'][number]) => number | undefined {
  let next = 0;
  return ({ tokens }) => {
    const share = sizes[next % sizes.length];
    next += 1;
    return share === undefined ? undefined : Math.floor(tokens * share);
  };
}

/**
 * A log that a store would accept. A tool result answers an earlier call at any distance, and calls may stay
 * unanswered.
 */
function messagesOf(script: readonly Step[]): WeighedMessage[] {
  const open: string[] = [];
  return script.map((step, index) => {
    const seq = index + 1;
    const message = messageOf(step, seq, open);
    if (step.isPinned) message.pinned = true;
    if (step.isDroppable) message.droppable = true;
    return { message, tokens: step.tokens, bytes: step.tokens * 3 };
  });
}

function messageOf(step: Step, seq: number, open: string[]): Message {
  const content = `${step.kind} ${seq}`;
  if (step.kind === 'call') {
    const ids = Array.from({ length: step.calls }, (_, index) => `c${seq}_${index}`);
    open.push(...ids);
    return {
      role: 'assistant',
      content,
      toolCalls: ids.map((id) => ({ id, name: 'read', arguments: `{"of":"${id}"}` })),
    };
  }
  if (step.kind !== 'result') return { role: step.kind, content };
  const [toolCallId] = open.splice(step.pick % Math.max(1, open.length), 1);
  return toolCallId === undefined ? { role: 'assistant', content } : { role: 'tool', content, toolCallId };
}

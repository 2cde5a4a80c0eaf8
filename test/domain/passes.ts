import { buildContext, type Context } from '../../src/compaction/context.ts';
import { type PlanRequest, planInSlices } from '../../src/compaction/plan.ts';
import {
  type AcceptedSummary,
  type SettledContext,
  type SettleOutcome,
  type SettleRequest,
  settleInSlices,
} from '../../src/compaction/settle.ts';
import { runToEnd } from '../../src/domain/interruptible.ts';
import { type ModelWindow, resolveLimits } from '../../src/domain/limits.ts';
import { type LogEntry, type Message, NO_WEIGHT, type Weight } from '../../src/domain/message.ts';
import type { Reason } from '../../src/domain/pass.ts';
import type { PassPlan } from '../../src/domain/pass-plan.ts';
import { completePolicy, type PolicyInput } from '../../src/domain/policy.ts';
import { NO_OVERHEAD, type RequestOverhead } from '../../src/domain/size.ts';
import { type SeqRange, START_VERSION, type Summary, type Version } from '../../src/domain/version.ts';
import { contextOf, maskLine } from './alphabet.ts';

export function planPass(request: PlanRequest): PassPlan {
  return runToEnd(planInSlices(request));
}

export function settlePass(request: SettleRequest): SettleOutcome {
  return runToEnd(settleInSlices(request));
}

export interface PassSetting {
  readonly policy?: PolicyInput;
  readonly reasons?: readonly Reason[];
  readonly model?: ModelWindow;
  readonly overhead?: RequestOverhead;
  /** Seqs of the user messages of the running turn. */
  readonly inputs?: readonly number[];
}

/** Counts four letters as one token. */
export function weighText({ content, toolCalls = [], parts = [] }: Message): Weight {
  const text = content + toolCalls.map((call) => call.name + call.arguments).join('');
  // Each part counts as a picture.
  return { tokens: Math.ceil(text.length / 4) + 4 + 100 * parts.length, bytes: Buffer.byteLength(text) + parts.length };
}

export function requestOver(context: Context, setting: PassSetting = {}): PlanRequest {
  const policy = completePolicy(setting.policy ?? {});
  const first = context.items.find((item) => item.message.role === 'user')?.from;
  return {
    context,
    policy,
    limits: resolveLimits(policy, setting.model),
    overhead: setting.overhead ?? NO_OVERHEAD,
    reasons: setting.reasons ?? ['message_threshold'],
    weigh: weighText,
    ...(first === undefined ? {} : { firstUserSeq: first }),
  };
}

export function planLine(line: string, setting: PassSetting = {}): PassPlan {
  return planPass(requestOver(contextOf(line), setting));
}

/**
 * Plans compaction of a line, then settles it with summaries of these sizes, in order. `undefined` stands for a failed
 * summary.
 */
export function settleLine(
  line: string,
  setting: PassSetting = {},
  summaryTokens: readonly (number | undefined)[] = [],
): SettleOutcome {
  const request = requestOver(contextOf(line), setting);
  const plan = planPass(request);
  const summaries = plan.sequences.flatMap((range, index) => {
    const tokens = summaryTokens[index];
    return tokens === undefined ? [] : [acceptedSummary(range, tokens)];
  });
  return settlePass({ ...request, plan, summaries });
}

export function settledLine(...given: Parameters<typeof settleLine>): SettledContext {
  const settled = settleLine(...given);
  if (settled.kind !== 'version') throw new Error(`settled as ${settled.kind}`);
  return settled;
}

export function maskPlan(line: string, plan: Pick<PassPlan, 'evict' | 'sequences'>): string {
  return maskLine(line, plan.evict, plan.sequences);
}

export function maskSettled(line: string, { segments }: SettledContext): string {
  return maskLine(
    line,
    segments.filter((segment) => segment.kind === 'evicted'),
    segments.filter((segment) => segment.kind === 'summary'),
  );
}

export function acceptedSummary({ from, to }: SeqRange, tokens: number): AcceptedSummary {
  return {
    range: { from, to },
    summaryKey: `text-${from}-${to}`,
    weight: { tokens, bytes: tokens * 4 },
    depth: 1,
    model: 'test',
  };
}

function summaryOf({ range, depth, model }: AcceptedSummary): Summary {
  return { text: `What was said from ${range.from} to ${range.to}.`, covers: range, sources: [], depth, model };
}

/** The version that a commit would make from this settled context. */
function versionOf(parent: Version, settled: SettledContext, entries: readonly LogEntry[], head: number): Version {
  return {
    ...START_VERSION,
    number: parent.number + 1,
    parent: parent.number,
    cause: 'pass',
    strategy: settled.strategy,
    base: head,
    segments: [...settled.segments],
    weight: settled.weight,
    baseTotal: entries[head - 1]?.total ?? NO_WEIGHT,
    tokensBefore: settled.tokensBefore,
    tokensAfter: settled.tokensAfter,
    archived: settled.archived,
  };
}

/** A conversation with several compaction passes in a row. */
export interface Story {
  readonly version: Version;
  readonly entries: readonly LogEntry[];
  readonly summaries: ReadonlyMap<string, Summary>;
}

export function contextOfStory({ version, entries, summaries }: Story): Context {
  return buildContext({ version, head: entries.length, entries, summaries });
}

export interface TakenPass {
  readonly request: PlanRequest;
  readonly plan: PassPlan;
  /** Absent if the plan was to do nothing. */
  readonly settlement?: SettleOutcome;
  readonly story: Story;
}

/** Runs one compaction pass: plans it, settles it with the summaries from `summarize`, and commits. */
export function takePass(
  story: Story,
  setting: PassSetting & { readonly summarize: (sequence: PassPlan['sequences'][number]) => number | undefined },
): TakenPass {
  const first = story.entries.find((entry) => entry.message.role === 'user')?.seq;
  const request = {
    ...requestOver({ ...contextOfStory(story), ...(setting.inputs && { inputs: setting.inputs }) }, setting),
    ...(first === undefined ? {} : { firstUserSeq: first }),
  };
  const plan = planPass(request);
  if (plan.kind === 'none' || plan.kind === 'infeasible') return { request, plan, story };
  const accepted = plan.sequences.flatMap((sequence) => {
    const tokens = setting.summarize(sequence);
    return tokens === undefined ? [] : [acceptedSummary(sequence, tokens)];
  });
  const settlement = settlePass({ ...request, plan, summaries: accepted });
  if (settlement.kind !== 'version') return { request, plan, settlement, story };
  const version = versionOf(story.version, settlement, story.entries, plan.head);
  const written = accepted.map((summary) => [summary.summaryKey, summaryOf(summary)] as const);
  const summaries = new Map([...story.summaries, ...written]);
  return { request, plan, settlement, story: { ...story, version, summaries } };
}

/**
 * Measures planning and settling a compaction of 10,000 messages: `node bench/plan.ts [--json]`. Targets (median): a plan
 * takes at most 10 ms, and a settlement at most 20 ms. The messages of most rows have no text, so that the rows measure what
 * the number of messages costs. The messages of rows `… with text` have 200 to 1,600 characters, 8 MB in all.
 */
import type { Weigh } from '../src/compaction/clip.ts';
import { contextOfLog } from '../src/compaction/context.ts';
import { type PlanRequest, planInSlices } from '../src/compaction/plan.ts';
import { type AcceptedSummary, type SettleOutcome, settleInSlices } from '../src/compaction/settle.ts';
import { runToEnd } from '../src/domain/interruptible.ts';
import { resolveLimits } from '../src/domain/limits.ts';
import { buildLog, type Message, type WeighedMessage } from '../src/domain/message.ts';
import type { Reason } from '../src/domain/pass.ts';
import type { PassPlan } from '../src/domain/pass-plan.ts';
import { completePolicy, type PolicyInput } from '../src/domain/policy.ts';
import { NO_OVERHEAD } from '../src/domain/size.ts';
import { START_VERSION } from '../src/domain/version.ts';
import { bytesOfMessage, countMessageSync } from '../src/wire/tokens/message-tokens.ts';
import { loadTokenCounter } from '../src/wire/tokens/token-counter.ts';
import { chatHistory, interlockedHistory, mixedHistory, numbersFrom, realisticTexts } from './plan-histories.ts';
import { sampleSize } from './sample-size.ts';
import { describeSpread, type Spread, spreadOf, timeMs } from './spread.ts';

const MESSAGES = sampleSize(10_000, 300);
const RUNS = sampleSize(61, 3);
const WARM_UP = sampleSize(30, 1);
/** Milliseconds of a plan with its settlement from which a row gets fewer runs. */
const SLOW_MS = 400;
const FEW_RUNS = 7;
const FEW_WARM_UP = 2;
const TARGET_MS = { plan: 10, settle: 20 };

interface Row {
  readonly history: string;
  readonly pass: string;
  readonly kind: string;
  readonly sequences: number;
  readonly planMs: Spread;
  readonly settled: string;
  readonly settleMs: Spread;
}

/** Weights of messages without text, which are as large as the history says. */
const nothingToCount: Weigh = () => ({ tokens: 50, bytes: 200 });
const counter = await loadTokenCounter('o200k_base');
const count: Weigh = (message) => ({ tokens: countMessageSync(counter, message), bytes: bytesOfMessage(message) });

interface History {
  readonly name: string;
  readonly messages: readonly WeighedMessage[];
  readonly weigh: Weigh;
}

/** A history of empty texts, whose messages have these sizes. */
function emptyHistory(name: string, messages: readonly Message[], sizeOf: () => number): History {
  const weighed = messages.map((message) => {
    const tokens = sizeOf();
    return { message, tokens, bytes: tokens * 4 };
  });
  return { name, messages: weighed, weigh: nothingToCount };
}

function realisticHistory(name: string, messages: readonly Message[]): History {
  return { name, messages: messages.map((message) => ({ message, ...count(message) })), weigh: count };
}

function measure({ name: history, messages, weigh }: History, policy: PolicyInput, reason: Reason): Row {
  const complete = completePolicy(policy);
  const request: PlanRequest = {
    context: contextOfLog(buildLog(messages), START_VERSION),
    policy: complete,
    limits: resolveLimits(complete),
    overhead: NO_OVERHEAD,
    reasons: [reason],
    weigh,
    firstUserSeq: 1 + messages.findIndex(({ message }) => message.role === 'user'),
  };
  const plan = runToEnd(planInSlices(request));
  const summaries = plan.sequences.map(({ from, to, tokens }): AcceptedSummary => {
    const weight = { tokens: Math.floor(tokens / 4), bytes: tokens };
    return { range: { from, to }, summaryKey: `${from}-${to}`, weight, depth: 1, model: 'bench' };
  });
  const makePlan = (): PassPlan => runToEnd(planInSlices(request));
  const settle = (): SettleOutcome => runToEnd(settleInSlices({ ...request, plan, summaries }));
  const isSlow = timeMs(makePlan) + timeMs(settle) > SLOW_MS;
  for (let run = 0; run < (isSlow ? FEW_WARM_UP : WARM_UP); run += 1) {
    makePlan();
    settle();
  }
  const measureTimes = (work: () => unknown): Spread =>
    spreadOf(Array.from({ length: isSlow ? FEW_RUNS : RUNS }, () => timeMs(work)));
  return {
    history,
    pass: reason,
    kind: plan.kind,
    sequences: plan.sequences.length,
    planMs: measureTimes(makePlan),
    settled: settle().kind,
    settleMs: measureTimes(settle),
  };
}

const below = numbersFrom(11);
const mixed = emptyHistory('mixed', mixedHistory(MESSAGES), () => 1 + below(400));
const withText = realisticHistory('mixed with text', mixedHistory(MESSAGES, realisticTexts(3)));
const rows = [
  measure(mixed, { maxTokens: 100_000 }, 'ratio'),
  measure(mixed, { maxTokens: 1_000, minSequenceMessages: MESSAGES }, 'hard_limit'),
  measure(
    emptyHistory('chat', chatHistory(MESSAGES), () => 50),
    { maxTokens: 100_000 },
    'ratio',
  ),
  measure(
    emptyHistory('interlocked', interlockedHistory(MESSAGES), () => 100),
    { maxTokens: 100_000 },
    'ratio',
  ),
  measure(withText, { maxTokens: 100_000 }, 'ratio'),
  measure(withText, { maxTokens: 100_000, minSequenceMessages: MESSAGES }, 'hard_limit'),
];
if (process.argv.includes('--json'))
  console.log(JSON.stringify({ messages: MESSAGES, runs: RUNS, targetMs: TARGET_MS, rows }));
else {
  console.log(
    `plan and settle over ${MESSAGES} messages, ${RUNS} runs (${FEW_RUNS} if slow), ms: median (min–max), targets ${TARGET_MS.plan} and ${TARGET_MS.settle}`,
  );
  console.table(
    rows.map((row) => ({ ...row, planMs: describeSpread(row.planMs), settleMs: describeSpread(row.settleMs) })),
  );
}

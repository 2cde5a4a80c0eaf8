/**
 * Measures planning and settling a compaction of 10,000 messages: `node bench/plan.ts [--json]`. Target: a plan takes
 * at most 10 ms (median).
 */
import { type PlanRequest, planInSlices } from '../src/domain/compaction/plan.ts';
import { type AcceptedSummary, settleInSlices } from '../src/domain/compaction/settle.ts';
import type { Reason } from '../src/domain/compaction/thresholds.ts';
import { contextOfLog } from '../src/domain/context.ts';
import { resolveLimits } from '../src/domain/limits.ts';
import { buildLog, type Message, type WeighedMessage } from '../src/domain/message.ts';
import { completePolicy, type PolicyInput } from '../src/domain/policy.ts';
import { NO_OVERHEAD } from '../src/domain/size.ts';
import { runToEnd } from '../src/domain/sliced.ts';
import { START_VERSION } from '../src/domain/version.ts';
import { describeSpread, type Spread, spreadOf, timeMs } from './spread.ts';

const MESSAGES = 10_000;
const RUNS = 61;
const WARM_UP = 30;
const TARGET_MS = 10;

interface Row {
  readonly history: string;
  readonly pass: string;
  readonly kind: string;
  readonly sequences: number;
  readonly planMs: Spread;
  readonly settled: string;
  readonly settleMs: Spread;
}

/** Returns the same sequence of pseudo-random numbers on every machine. */
function numbersFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Turns of text and tool rounds with one to four parallel calls. Every tenth result comes long after its call. */
function mixedHistory(): WeighedMessage[] {
  const below = numbersFrom(7);
  const messages: Message[] = [{ role: 'system', content: '' }];
  const late: { readonly message: Message; readonly due: number }[] = [];
  while (messages.length < MESSAGES) {
    while ((late[0]?.due ?? Number.POSITIVE_INFINITY) <= messages.length)
      messages.push((late.shift() as (typeof late)[number]).message);
    const kind = below(10);
    if (kind < 2) messages.push({ role: 'user', content: '' });
    else if (kind < 4) messages.push({ role: 'assistant', content: '' });
    else {
      const ids = Array.from({ length: 1 + below(4) }, (_, index) => `c${messages.length + 1}_${index}`);
      messages.push({
        role: 'assistant',
        content: '',
        toolCalls: ids.map((id) => ({ id, name: 'read', arguments: '{}' })),
      });
      for (const toolCallId of ids) {
        const message: Message = { role: 'tool', content: '', toolCallId };
        if (below(10) === 0) late.push({ message, due: messages.length + 40 });
        else messages.push(message);
      }
    }
  }
  return messages.slice(0, MESSAGES).map((message) => weigh(message, 1 + below(400)));
}

/**
 * One long turn whose tool rounds interleave: each result comes after the next call. A user message splits the first
 * round.
 */
function interlockedHistory(): WeighedMessage[] {
  const callAt = (index: number): Message => ({
    role: 'assistant',
    content: '',
    toolCalls: [{ id: `c${index}`, name: 'read', arguments: '{}' }],
  });
  const messages: Message[] = [callAt(0), { role: 'user', content: '' }];
  for (let index = 0; messages.length < MESSAGES - 1; index += 1) {
    messages.push(callAt(index + 1), { role: 'tool', content: '', toolCallId: `c${index}` });
  }
  return messages.map((message) => weigh(message, 100));
}

/** A conversation of text only. It has nothing to summarize, so compaction evicts messages. */
function chatHistory(): WeighedMessage[] {
  return Array.from({ length: MESSAGES }, (_, index) =>
    weigh({ role: index % 2 === 0 ? 'user' : 'assistant', content: '' }, 50),
  );
}

function weigh(message: Message, tokens: number): WeighedMessage {
  return { message, tokens, bytes: tokens * 4 };
}

function measure(history: string, messages: readonly WeighedMessage[], policy: PolicyInput, reason: Reason): Row {
  const complete = completePolicy(policy);
  const request: PlanRequest = {
    context: contextOfLog(buildLog(messages), START_VERSION),
    policy: complete,
    limits: resolveLimits(complete),
    overhead: NO_OVERHEAD,
    reasons: [reason],
    weigh: () => ({ tokens: 50, bytes: 200 }),
    firstUserSeq: 1 + messages.findIndex(({ message }) => message.role === 'user'),
  };
  const plan = runToEnd(planInSlices(request));
  const summaries = plan.sequences.map(({ from, to, tokens }): AcceptedSummary => {
    const weight = { tokens: Math.floor(tokens / 4), bytes: tokens };
    return { range: { from, to }, summaryKey: `${from}-${to}`, weight, depth: 1, model: 'bench' };
  });
  const settle = () => runToEnd(settleInSlices({ ...request, plan, summaries }));
  for (let run = 0; run < WARM_UP; run += 1) {
    runToEnd(planInSlices(request));
    settle();
  }
  return {
    history,
    pass: reason,
    kind: plan.kind,
    sequences: plan.sequences.length,
    planMs: spreadOf(Array.from({ length: RUNS }, () => timeMs(() => runToEnd(planInSlices(request))))),
    settled: settle().kind,
    settleMs: spreadOf(Array.from({ length: RUNS }, () => timeMs(settle))),
  };
}

const rows = [
  measure('mixed', mixedHistory(), { maxTokens: 100_000 }, 'ratio'),
  measure('mixed', mixedHistory(), { maxTokens: 1_000, minSequenceMessages: MESSAGES }, 'hard_limit'),
  measure('chat', chatHistory(), { maxTokens: 100_000 }, 'ratio'),
  measure('interlocked', interlockedHistory(), { maxTokens: 100_000 }, 'ratio'),
];
if (process.argv.includes('--json'))
  console.log(JSON.stringify({ messages: MESSAGES, runs: RUNS, targetMs: TARGET_MS, rows }));
else {
  console.log(
    `plan and settle over ${MESSAGES} messages, ${RUNS} runs, ms: median (min–max), target of a plan ${TARGET_MS}`,
  );
  console.table(
    rows.map((row) => ({ ...row, planMs: describeSpread(row.planMs), settleMs: describeSpread(row.settleMs) })),
  );
}

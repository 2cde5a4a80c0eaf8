/**
 * Measures how long the most expensive inputs block the event loop: `node bench/loop.ts [--json]`. The limit is 50 ms
 * without interruption. Prints the longest uninterrupted slice in ms of CPU time of this thread, and the total time,
 * for each input.
 */

import { buildContext } from '../src/compaction/context.ts';
import { diffInSlices } from '../src/compaction/diff.ts';
import { planInSlices } from '../src/compaction/plan.ts';
import { evictNewer } from '../src/compaction/restore.ts';
import { settleInSlices } from '../src/compaction/settle.ts';
import { adoptMessages } from '../src/domain/history.ts';
import { resolveLimits } from '../src/domain/limits.ts';
import { buildLog, type Message } from '../src/domain/message.ts';
import { completePolicy } from '../src/domain/policy.ts';
import { WIRE_FORMATS } from '../src/domain/raw-items.ts';
import { NO_OVERHEAD } from '../src/domain/size.ts';
import { renderSummary } from '../src/domain/summary.ts';
import { type Segment, START_VERSION, type Version } from '../src/domain/version.ts';
import { scriptedModel } from '../src/providers/scripted.ts';
import { readSections } from '../src/summarize/model/sections.ts';
import { createMetrics } from '../src/telemetry/metrics.ts';
import { createRedaction } from '../src/telemetry/secrets.ts';
import { wireFormats } from '../src/wire/formats.ts';
import { eventLoopShare } from '../src/wire/tokens/event-loop-share.ts';
import { bytesOfMessage } from '../src/wire/tokens/message-tokens.ts';
import { loadTokenCounter } from '../src/wire/tokens/token-counter.ts';
import { checkVersion } from '../src/workers/compaction/check-version.ts';
import { clipResult } from '../src/workers/turn/tool-output.ts';

interface Row {
  readonly input: string;
  readonly heldMs: number;
  readonly totalMs: number;
}

const rows: Row[] = [];

async function measure(input: string, work: () => unknown): Promise<void> {
  let heldMs = 0;
  let isDone = false;
  let last = process.threadCpuUsage();
  const look = (): void => {
    const now = process.threadCpuUsage();
    heldMs = Math.max(heldMs, (now.user + now.system - last.user - last.system) / 1_000);
    last = now;
    if (!isDone) setImmediate(look);
  };
  setImmediate(look);
  const startedMs = performance.now();
  await work();
  const totalMs = performance.now() - startedMs;
  isDone = true;
  await new Promise((resolve) => setImmediate(resolve));
  look();
  rows.push({ input, heldMs: Math.round(heldMs), totalMs: Math.round(totalMs) });
}

function historyOf(length: number): Message[] {
  return Array.from({ length: length / 4 }, (_, turn): Message[] => {
    const id = `c${4 * turn + 2}_0`;
    return [
      { role: 'user', content: `question ${turn}` },
      { role: 'assistant', content: '', toolCalls: [{ id, name: 'read', arguments: '{"path":"a.ts"}' }] },
      { role: 'tool', content: 'content of the file', toolCallId: id },
      { role: 'assistant', content: `answer ${turn}` },
    ];
  }).flat();
}

async function measurePass(length: number): Promise<void> {
  const entries = buildLog(historyOf(length).map((message) => ({ message, tokens: 50, bytes: 200 })));
  const context = buildContext({ version: START_VERSION, head: length, entries, summaries: new Map() });
  const policy = completePolicy({ maxTokens: 50_000, maskToolResults: true });
  const request = {
    context,
    policy,
    limits: resolveLimits(policy),
    overhead: NO_OVERHEAD,
    reasons: ['hard_limit' as const],
    weigh: () => ({ tokens: 50, bytes: 200 }),
    firstUserSeq: 1,
  };
  await measure(`plan and settle over ${length} messages`, async () => {
    const plan = await eventLoopShare.run(planInSlices(request));
    await eventLoopShare.run(settleInSlices({ ...request, plan, summaries: [] }));
  });
}

/** Each message has 1,000 bytes, so 100,000 messages have 100 MB as JSON. */
async function measureCommitCheck(length: number): Promise<void> {
  const long = 'content of the file '.repeat(50);
  const messages = historyOf(length).map((message) =>
    message.content === '' ? message : { ...message, content: long },
  );
  const entries = buildLog(messages.map((message) => ({ message, tokens: 250, bytes: 1_000 })));
  const source = { version: START_VERSION, head: length, entries, summaries: new Map() };
  const weight = { tokens: 250 * length, bytes: 1_000 * length };
  const settled = { segments: [{ kind: 'raw' as const, from: 1, to: length, weight }], weight };
  const policy = completePolicy({});
  const agent = { name: 'a', system: '', tools: [], policy: {}, model: scriptedModel({ steps: [] }) };
  for (const format of WIRE_FORMATS) {
    const model = { ...agent.model, profile: { ...agent.model.profile, format } };
    const prepared = {
      agent: { ...agent, model },
      policy,
      system: 'Be brief.',
      tools: [],
      limits: resolveLimits(policy),
      overhead: NO_OVERHEAD,
    };
    await measure(`commit check of ${length} messages as ${format}`, () =>
      eventLoopShare.run(checkVersion(prepared, source, settled, new Map())),
    );
  }
}

async function measureVersions(length: number): Promise<void> {
  const versionOf = (offset: number): Version => ({
    ...START_VERSION,
    base: length,
    segments: Array.from({ length }, (_, index): Segment => {
      const kind = index % 2 === offset ? 'evicted' : 'raw';
      return { kind, from: index + 1, to: index + 1, weight: { tokens: 1, bytes: 1 } };
    }),
  });
  const [one, other] = [versionOf(0), versionOf(1)];
  await measure(`versions of ${length} segments compared`, () => eventLoopShare.run(diffInSlices(one, other)));
  const entries = buildLog(historyOf(length).map((message) => ({ message, tokens: 50, bytes: 200 })));
  await measure(`${length} messages dropped by a restore`, () => eventLoopShare.run(evictNewer(entries)));
}

const counter = await loadTokenCounter('o200k_base');
const large = Buffer.alloc(64 * 1_048_576, 'a').toString();
await measure('tool result of 64 MiB', () => clipResult(counter, large, { maxTokens: 8_000, hasRecall: true }));
await measure("summary of '<' and 200,000 blanks", () => renderSummary(`<${' '.repeat(200_000)}`, { from: 1, to: 2 }));
await measure('section of 200,000 blanks', () => readSections(`## Goal\n-${' -'.repeat(100_000)}x`));
await measure("log line of 15,000 times 'eyJ-'", () => createRedaction([])('eyJ-'.repeat(15_000)));
const parts = Array.from({ length: 200_000 }, () => ({}));
await measure('200,000 empty parts', () => bytesOfMessage({ content: '', parts }));
const toolCalls = Array.from({ length: 10_000 }, (_, index) => ({
  id: `${'x'.repeat(70)}${index}`,
  name: 'read',
  arguments: '{}',
}));
const results = toolCalls.map(({ id }): Message => ({ role: 'tool', content: 'done', toolCallId: id }));
const round: Message[] = [{ role: 'assistant', content: '', toolCalls }, ...results];
await measure('10,000 calls adopted', () => adoptMessages(round, 1));
await measure('10,000 calls rendered', () =>
  eventLoopShare.run(
    wireFormats['openai-chat'].renderInSlices({
      model: 'm',
      system: '',
      tools: [],
      messages: round,
      maxOutputTokens: 100,
    }),
  ),
);
await measurePass(20_000);
await measurePass(100_000);
await measureCommitCheck(20_000);
await measureCommitCheck(100_000);
await measureVersions(100_000);
const metrics = createMetrics();
await measure('500 simultaneous scrapes', () => Promise.all(Array.from({ length: 500 }, () => metrics.render())));

if (process.argv.includes('--json')) console.log(JSON.stringify({ limitMs: 50, rows }));
else {
  console.log('longest time without a yield (CPU ms, limit 50), and total time (ms)');
  console.table(rows);
}

/**
 * Replays the recorded conversations beside the checkout through compaction: `node bench/replay.ts [--json]`. Target:
 * 2,000 messages a second for each file, including reading and counting. The values of maxTokens range from small to
 * large, with a window of twice the value.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import {
  createOfflineSummarizers,
  prepareOfflineAgent,
  suggestUsableTokens,
  weighConversation,
} from '../src/evaluation/offline-agent.ts';
import { RememberedCounts } from '../src/evaluation/remembered-counts.ts';
import { Replay } from '../src/evaluation/replay.ts';
import { readConversationLine } from '../src/wire/histories/conversation-line.ts';
import { isSmoke, sampleSize } from './sample-size.ts';

const FOLDER = new URL('../../shared/traces/', import.meta.url);
const BUDGETS = isSmoke ? [8_000] : [4_000, 8_000, 16_000];
const THRESHOLD_SHARE = 1.3;
const TARGET_PER_SECOND = 2_000;
/** Messages that one measured run must process at least. */
const MIN_MESSAGES = sampleSize(2_000, 1);

interface Row {
  readonly file: string;
  readonly maxTokens: number;
  readonly messages: number;
  readonly requests: number;
  readonly overLimit: number;
  readonly invalid: number;
  readonly compactions: number;
  /** Percentage of the needles that the compacted contexts hold. */
  readonly recall: number;
  readonly windowRecall: number;
  readonly messagesPerSecond: number;
}

interface Sums {
  readonly messages: number;
  readonly requests: number;
  readonly overLimit: number;
  readonly invalid: number;
  readonly compactions: number;
  readonly needles: number;
  readonly compacted: number;
  readonly window: number;
}

/** Replays a file once, from its text on. No token count of an earlier run is reused. */
async function replayFile(text: string, maxTokens: number): Promise<Sums> {
  const policy = { maxTokens, tokenThreshold: Math.round(maxTokens * THRESHOLD_SHARE) };
  const counts = new RememberedCounts();
  const prepared = await prepareOfflineAgent(policy, { usableTokens: suggestUsableTokens(policy) }, counts);
  const summarizers = await createOfflineSummarizers(counts);
  const sums = { messages: 0, requests: 0, overLimit: 0, invalid: 0, compactions: 0 };
  let [needles, compacted, window] = [0, 0, 0];
  for (const [index, line] of text.split('\n').filter(Boolean).entries()) {
    const weighed = await weighConversation(readConversationLine(line, index + 1).messages, prepared);
    const replay = new Replay(weighed, prepared, summarizers);
    for (const message of weighed) await replay.add(message);
    const { figures } = await replay.end();
    sums.messages += weighed.length;
    for (const name of ['requests', 'overLimit', 'invalid', 'compactions'] as const) sums[name] += figures[name];
    needles += figures.recall.needles;
    compacted += figures.recall.compacted * figures.recall.needles;
    window += figures.recall.window * figures.recall.needles;
  }
  return { ...sums, needles, compacted, window };
}

/**
 * Replays short files repeatedly, because a single run over 129 messages would mostly measure the JavaScript compiler.
 */
async function measure(file: string, maxTokens: number): Promise<Row> {
  const text = readFileSync(new URL(file, FOLDER), 'utf8');
  const startMs = performance.now();
  const { needles, compacted, window, ...sums } = await replayFile(text, maxTokens);
  let messages = sums.messages;
  for (; messages < MIN_MESSAGES; messages += sums.messages) await replayFile(text, maxTokens);
  const seconds = (performance.now() - startMs) / 1_000;
  const percent = (held: number): number => (needles === 0 ? 100 : Number(((held / needles) * 100).toFixed(1)));
  return {
    file: file.replace(/\.jsonl$/, ''),
    maxTokens,
    ...sums,
    recall: percent(compacted),
    windowRecall: percent(window),
    messagesPerSecond: Math.round(messages / seconds),
  };
}

const files = existsSync(FOLDER) ? readdirSync(FOLDER).filter((name) => name.endsWith('.jsonl')) : [];
/** A short file whose conversation is compacted several times. */
const SMOKE_FILE = 'coding_forge.jsonl';
const rows: Row[] = [];
// The first run is not measured, so that the code is compiled before.
const measured = isSmoke ? files.filter((name) => name === SMOKE_FILE) : files;
for (const file of measured) await measure(file, BUDGETS[0] ?? 0);
for (const maxTokens of BUDGETS) for (const file of measured) rows.push(await measure(file, maxTokens));
const seconds = rows.reduce((sum, row) => sum + row.messages / row.messagesPerSecond, 0);
const slowest = rows.toSorted((a, b) => a.messagesPerSecond - b.messagesPerSecond)[0];
const messagesPerSecond = Math.round(rows.reduce((sum, { messages }) => sum + messages, 0) / seconds);

if (files.length === 0) console.log('skipped: there are no recorded conversations beside the checkout');
else if (process.argv.includes('--json'))
  console.log(
    JSON.stringify({
      targetPerSecond: TARGET_PER_SECOND,
      messagesPerSecond,
      slowest: slowest?.messagesPerSecond,
      rows,
    }),
  );
else {
  const least = `${slowest?.messagesPerSecond} on ${slowest?.file} at ${slowest?.maxTokens}`;
  console.log(
    `${messagesPerSecond} messages/s over all files and budgets, least ${least}, target ${TARGET_PER_SECOND}`,
  );
  console.table(rows);
}

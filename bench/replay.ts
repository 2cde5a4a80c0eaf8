/**
 * Replay of the recorded conversations beside the checkout: `node bench/replay.ts [--json]`. Target: 2,000 messages a second over
 * all of them, reading and counting included; budgets from tight to wide, in a window of twice the budget.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { prepareOfflineAgent, suggestUsableTokens } from '../src/runtime/offline/offline-agent.ts';
import { Replay } from '../src/runtime/offline/replay.ts';
import { weighConversation } from '../src/runtime/offline/weigh-conversation.ts';
import { createSummarizers } from '../src/runtime/summarizers.ts';
import { readConversationLine } from '../src/wire/conversation-line.ts';

const FOLDER = new URL('../../shared/traces/', import.meta.url);
const BUDGETS = [4_000, 8_000, 16_000];
const THRESHOLD_SHARE = 1.3;
const TARGET_PER_SECOND = 2_000;

interface Row {
  readonly file: string;
  readonly maxTokens: number;
  readonly messages: number;
  readonly requests: number;
  readonly overLimit: number;
  readonly invalid: number;
  readonly compactions: number;
  /** percent of the literals of later calls */
  readonly recall: number;
  readonly windowRecall: number;
  readonly messagesPerSecond: number;
}

async function measure(file: string, maxTokens: number): Promise<Row> {
  const policy = { maxTokens, tokenThreshold: Math.round(maxTokens * THRESHOLD_SHARE) };
  const prepared = await prepareOfflineAgent(policy, { usableTokens: suggestUsableTokens(policy) });
  const summarizers = await createSummarizers([], []);
  const lines = readFileSync(new URL(file, FOLDER), 'utf8').split('\n').filter(Boolean);
  const sums = { messages: 0, requests: 0, overLimit: 0, invalid: 0, compactions: 0 };
  let [literals, compacted, evicted] = [0, 0, 0];
  const startMs = performance.now();
  for (const [index, line] of lines.entries()) {
    const weighed = await weighConversation(readConversationLine(line, index + 1).messages, prepared);
    const replay = new Replay(weighed, prepared, summarizers);
    for (const message of weighed) await replay.add(message);
    const { figures } = await replay.end();
    sums.messages += weighed.length;
    for (const name of ['requests', 'overLimit', 'invalid', 'compactions'] as const) sums[name] += figures[name];
    literals += figures.recall.literals;
    compacted += figures.recall.compacted * figures.recall.literals;
    evicted += figures.recall.evicted * figures.recall.literals;
  }
  const seconds = (performance.now() - startMs) / 1_000;
  const percent = (held: number): number => (literals === 0 ? 100 : Number(((held / literals) * 100).toFixed(1)));
  return {
    file: file.replace(/\.jsonl$/, ''),
    maxTokens,
    ...sums,
    recall: percent(compacted),
    windowRecall: percent(evicted),
    messagesPerSecond: Math.round(sums.messages / seconds),
  };
}

const files = existsSync(FOLDER) ? readdirSync(FOLDER).filter((name) => name.endsWith('.jsonl')) : [];
const rows: Row[] = [];
for (const maxTokens of BUDGETS) for (const file of files) rows.push(await measure(file, maxTokens));
const seconds = rows.reduce((sum, row) => sum + row.messages / row.messagesPerSecond, 0);
const messagesPerSecond = Math.round(rows.reduce((sum, { messages }) => sum + messages, 0) / seconds);

if (files.length === 0) console.log('skipped: there are no recorded conversations beside the checkout');
else if (process.argv.includes('--json'))
  console.log(JSON.stringify({ targetPerSecond: TARGET_PER_SECOND, messagesPerSecond, rows }));
else {
  console.log(`${messagesPerSecond} messages/s over all files and budgets; target ${TARGET_PER_SECOND}`);
  console.table(rows);
}

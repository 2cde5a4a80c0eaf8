/**
 * Measures a call of the recall tool in a conversation of 10,000 messages, over an in-process Redis and over Redis, packed or not:
 * `node bench/recall.ts [--json]`. The first call builds the index of the conversation. Target for later calls: at most 10 ms
 * (median), with one new message before each. A search without an index would read the whole log each time, so that is
 * measured, too.
 */
import type { ToolContext } from '../src/domain/agent.ts';
import type { ConversationRef } from '../src/domain/ids.ts';
import type { Message, WeighedMessage } from '../src/domain/message.ts';
import { type ContextStore, openContextStore } from '../src/store/contexts.ts';
import { Keyspace } from '../src/store/keys.ts';
import { openEmbeddedStore } from '../src/store/open-embedded-store.ts';
import { openPackStore } from '../src/store/pack-store.ts';
import { openConnection } from '../src/store/redis/connection.ts';
import { loadTokenCounter } from '../src/wire/tokens/token-counter.ts';
import { LineIndexes, readRange } from '../src/workers/recall/line-indexes.ts';
import { Recall } from '../src/workers/recall/recall.ts';
import { restConversation } from '../test/store/rest-conversation.ts';
import { openBenchRedis } from './redis.ts';
import { sampleSize } from './sample-size.ts';
import { describeSpread, type Spread, spreadOf } from './spread.ts';

const MESSAGES = sampleSize(10_000, 500);
const RUNS = sampleSize(20, 3);
/** Calls of each query that are not measured, because a worker runs for days. */
const WARM_UP = sampleSize(10, 1);
const SCANS = sampleSize(10, 2);
const TARGET_MS = 10;
const APPENDED_AT_ONCE = 500;
const QUERIES = [
  'order W104711',
  'why did the test fail',
  'src/module_12/file_712.ts',
  '4711',
  'the order was not found',
];
const COMMON =
  'the to of a and is in it for that was not with on order be this as are test file found did why fail'.split(' ');
const SYLLABLES = 'ra te lo min sor ke va dul pon ti gre sha cu fel bo'.split(' ');
const RARE_WORDS = 5_000;

const counter = await loadTokenCounter('o200k_base');
const conversation: ConversationRef = { tenant: '_', id: 'long' };
const { signal } = new AbortController();

interface Row {
  readonly store: string;
  readonly coldMs: number;
  readonly later: Readonly<Record<string, Spread>>;
  /** All later calls. */
  readonly all: Spread;
  /** CPU time of this process for a later call, which other processes change less. */
  readonly cpuMs: number;
  readonly indexBytes: number;
  /** CPU time of this process, in ms, to read all messages. */
  readonly scanCpuMs: Spread;
}

/** Sentences of common and rarer words, with a path or an order in each: about 1,000 characters a message, as recorded ones have. */
function writeText(seq: number, lines: number): string {
  let random = seq * 2_654_435_761;
  const next = (most: number): number => {
    random = (Math.imul(random ^ (random >>> 15), 2_246_822_519) + 374_761_393) >>> 0;
    return random % most;
  };
  return Array.from({ length: lines }, () => {
    const words = Array.from({ length: 6 + next(6) }, () => nameWord(next(1_000) / 1_000));
    const name =
      next(2) === 0 ? `src/module_${next(700)}/file_${next(9_000)}.ts:${next(400)}` : `#W${100_000 + next(90_000)}`;
    return `${words.join(' ')} ${name}`;
  }).join('\n');
}

/** A word by its rank: the word of rank n is about n times as rare as the first. */
function nameWord(share: number): string {
  const rank = Math.floor((COMMON.length + RARE_WORDS) ** share) - 1;
  const common = COMMON[rank];
  if (common !== undefined) return common;
  const syllable = (at: number): string => SYLLABLES[at % SYLLABLES.length] ?? '';
  return (
    syllable(rank) + syllable(Math.floor(rank / 15)) + syllable(Math.floor(rank / 225)) + (rank > 3_375 ? 'ing' : '')
  );
}

/** A user message, a call, its result of 2,000 characters, and an answer. */
function writeMessage(seq: number): Message {
  const callId = (of: number): string => `c${of}_0`;
  switch (seq % 4) {
    case 1:
      return { role: 'user', content: writeText(seq, 3) };
    case 2: {
      const call = {
        id: callId(seq),
        name: 'read_file',
        arguments: JSON.stringify({ path: `src/file_${seq}.ts`, text: writeText(seq, 8) }),
      };
      return { role: 'assistant', content: '', toolCalls: [call] };
    }
    case 3:
      return { role: 'tool', toolCallId: callId(seq - 1), content: writeText(seq, 32) };
    default:
      return { role: 'assistant', content: writeText(seq, 8) };
  }
}

function weigh(message: Message): WeighedMessage {
  const bytes = Buffer.byteLength(JSON.stringify(message));
  return { message, tokens: Math.ceil(bytes / 4), bytes };
}

async function append(contexts: ContextStore, from: number, to: number): Promise<void> {
  const messages = Array.from({ length: to - from + 1 }, (_, at) => weigh(writeMessage(from + at)));
  const request = { conversation, operation: `o${from}`, agent: 'bench', expectedHead: from - 1, messages };
  const { status } = await contexts.append({ ...request, opens: [], closes: [] });
  if (status !== 'appended') throw new Error(`append: ${status}`);
}

/** @param prepare runs once after the messages were appended */
async function measure(store: string, contexts: ContextStore, prepare = async () => undefined): Promise<Row> {
  for (let from = 1; from <= MESSAGES; from += APPENDED_AT_ONCE)
    await append(contexts, from, from + APPENDED_AT_ONCE - 1);
  await prepare();
  const indexes = new LineIndexes();
  const recall = new Recall(counter, 8_000, indexes);
  const ask = async (query: string): Promise<number> => {
    const state = await contexts.readConversation(conversation);
    if (state === undefined) throw new Error('no conversation');
    const tool = recall.open({ contexts, conversation, state });
    const startMs = performance.now();
    await tool.run?.({ query }, { signal } as ToolContext);
    return performance.now() - startMs;
  };
  const coldMs = await ask(QUERIES[0] as string);
  const later: Record<string, Spread> = {};
  const all: number[] = [];
  let cpuUs = 0;
  let head = MESSAGES;
  for (const query of QUERIES) {
    const times: number[] = [];
    for (let run = 0; run < WARM_UP + RUNS; run += 1) {
      head += 1;
      await append(contexts, head, head);
      const before = process.cpuUsage();
      const ms = await ask(query);
      const { user, system } = process.cpuUsage(before);
      if (run < WARM_UP) continue;
      times.push(ms);
      cpuUs += user + system;
    }
    later[query] = spreadOf(times);
    all.push(...times);
  }
  const cpuMs = Number((cpuUs / 1_000 / all.length).toFixed(1));
  const scanCpuMs = await measureScan(contexts);
  return { store, coldMs: Math.round(coldMs), later, all: spreadOf(all), cpuMs, indexBytes: indexes.bytes, scanCpuMs };
}

async function measureScan(contexts: ContextStore): Promise<Spread> {
  const times: number[] = [];
  for (let run = 0; run < SCANS; run += 1) {
    const before = process.cpuUsage();
    let messages = 0;
    for await (const entries of readRange({ contexts, conversation }, { from: 1, to: MESSAGES }, signal))
      messages += entries.length;
    if (messages !== MESSAGES) throw new Error(`read ${messages} of ${MESSAGES} messages`);
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / 1_000);
  }
  return spreadOf(times);
}

const server = await openBenchRedis();
const redis = openConnection({ url: server.url });
const keyspace = new Keyspace(16);

/** Packs the log as after an hour without use. */
async function packAll(): Promise<undefined> {
  await restConversation(redis, keyspace, conversation);
  await openPackStore(redis, keyspace).packLog(conversation);
}

try {
  const rows = [
    await measure('Redis in this process', (await openEmbeddedStore()).store),
    await measure('Redis', openContextStore(redis, keyspace)),
  ];
  await openContextStore(redis, keyspace).erase(conversation);
  rows.push(await measure('Redis, packed', openContextStore(redis, keyspace), packAll));
  if (process.argv.includes('--json')) process.stdout.write(`${JSON.stringify({ rows, targetMs: TARGET_MS })}\n`);
  else
    for (const { store, coldMs, later, all, cpuMs, indexBytes, scanCpuMs } of rows) {
      process.stdout.write(
        `${store}: first call ${coldMs} ms, index ${Math.round(indexBytes / MESSAGES)} bytes a message\n`,
      );
      process.stdout.write(`  later calls: ${describeSpread(all)} ms, CPU ${cpuMs} ms\n`);
      process.stdout.write(`  reading the whole log: CPU ${describeSpread(scanCpuMs)} ms\n`);
      for (const [query, spread] of Object.entries(later))
        process.stdout.write(`  ${query}: ${describeSpread(spread)} ms\n`);
    }
} finally {
  redis.disconnect();
  await server.stop();
}

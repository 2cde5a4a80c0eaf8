/**
 * Measures how much of a request's start stays the same byte for byte, so that a provider reads it from its cache:
 * `node bench/prefix.ts [--families=chat,service] [--tokens=8000] [--ratio=1.3] [--json]`. A pass begins at `ratio` times `tokens`.
 * Between two requests without a compaction, all of it must stay. Over a compaction, the kept bytes are compared with
 * those of the cheapest cut, which removes messages before the retention window only. `billed` prices all requests.
 */
import { parseArgs } from 'node:util';
import type { Message } from '../src/domain/message.ts';
import { WIRE_FORMATS, type WireFormat } from '../src/domain/raw-items.ts';
import {
  createOfflineSummarizers,
  prepareOfflineAgent,
  suggestUsableTokens,
  weighConversation,
} from '../src/evaluation/offline-agent.ts';
import { RememberedCounts } from '../src/evaluation/remembered-counts.ts';
import { Replay } from '../src/evaluation/replay.ts';
import { wireFormats } from '../src/wire/formats.ts';
import { CACHE_READ, CACHE_WRITE } from './context/live.ts';
import { type BenchRecording, FAMILIES, type Family, familyOf, readRecordings } from './context/points.ts';
import { isSmoke, sampleSize } from './sample-size.ts';

/** Requests of a recording of which each is compared with the one before. */
const COMPARED_REQUESTS = 6;
const SHARES = isSmoke ? [0] : [0, 0.2, 0.4, 0.5, 0.6, 0.8];

/** Requests of a recording, each with the number of messages that it holds. */
function chooseRequests(messages: readonly Message[]): number[] {
  const ends = messages.flatMap(({ role }, index) => (role === 'assistant' && index > 1 ? [index] : []));
  const step = Math.max(1, Math.floor(ends.length / COMPARED_REQUESTS));
  return ends.filter((_, index) => index > 0 && index % step === 0);
}

/** Share of the shorter request's bytes with which the longer one begins. Cache marks move, and are no content. */
function compareStarts(format: WireFormat, messages: readonly Message[], shorter: number, longer: number): number {
  const render = (end: number): string => {
    const request = {
      model: 'm',
      system: 'You help.',
      tools: [],
      messages: messages.slice(0, end),
      maxOutputTokens: 1,
    };
    const { body } = wireFormats[format].render(request, { hasCacheMarks: false }) as {
      body: Record<string, unknown[]>;
    };
    return JSON.stringify(body['messages'] ?? body['input']).slice(1, -1);
  };
  const [before, after] = [render(shorter), render(longer)];
  if (after.startsWith(before)) return 1;
  let same = 0;
  while (before[same] === after[same]) same += 1;
  return same / before.length;
}

function measureTurns(recordings: readonly BenchRecording[]): Record<string, number> {
  const shares: Record<string, number> = {};
  for (const format of WIRE_FORMATS) {
    let least = 1;
    for (const { messages } of recordings) {
      const said = messages.filter(({ role }) => role !== 'system');
      for (const end of chooseRequests(said)) {
        const before = said.findLastIndex(({ role }, index) => role === 'assistant' && index < end - 1);
        if (before > 0) least = Math.min(least, compareStarts(format, said, before, end));
      }
    }
    shares[format] = Number((100 * least).toFixed(2));
  }
  return shares;
}

interface PrefixRow {
  readonly keepPrefix: number;
  readonly passes: number;
  /** Bytes that stay, of 100 bytes before the compaction. */
  readonly kept: number;
  /** Bytes that stay, of 100 bytes that the cheapest cut would keep. */
  readonly ofCheapest: number;
  /** Tokens billed per request, at the price of an uncached input token. */
  readonly billed: number;
  /** Names that the agent uses after a compaction and that its context still holds, of 100. */
  readonly recall: number;
}

interface Sizes {
  readonly maxTokens: number;
  readonly tokenThreshold: number;
}

const PRICES = { input: 1, cachedInput: CACHE_READ, cacheWrite: CACHE_WRITE, output: 0 };
const TOKENS_PRICED = 1_000_000;

async function measurePasses(
  recordings: readonly BenchRecording[],
  sizes: Sizes,
  keepPrefix: number,
): Promise<PrefixRow> {
  const policy = { ...sizes, keepPrefix };
  const counts = new RememberedCounts();
  const unpriced = await prepareOfflineAgent(policy, { usableTokens: suggestUsableTokens(policy) }, counts);
  const { agent } = unpriced;
  const profile = { ...agent.model.profile, prices: PRICES };
  const prepared = { ...unpriced, agent: { ...agent, model: { ...agent.model, profile } } };
  const summarizers = await createOfflineSummarizers(counts);
  let [passes, bytes, kept, cheapest, billed, requests, held, needles] = [0, 0, 0, 0, 0, 0, 0, 0];
  for (const { messages } of recordings) {
    const weighed = await weighConversation(messages, prepared);
    const replay = new Replay(weighed, prepared, summarizers);
    for (const message of weighed) await replay.add(message);
    const { figures } = await replay.end();
    passes += figures.compactions;
    bytes += figures.prefix.bytes;
    kept += figures.prefix.kept;
    cheapest += figures.prefix.cheapest;
    requests += figures.requests;
    needles += figures.recall.needles;
    held += figures.recall.compacted * figures.recall.needles;
    billed += (figures.cost?.withCache ?? 0) * TOKENS_PRICED;
  }
  const percent = (part: number, whole: number): number => Number(((100 * part) / Math.max(1, whole)).toFixed(1));
  const shares = { kept: percent(kept, bytes), ofCheapest: percent(kept, cheapest), recall: percent(held, needles) };
  return { keepPrefix, passes, ...shares, billed: Math.round(billed / Math.max(1, requests)) };
}

const { values } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    families: { type: 'string', default: FAMILIES.join() },
    tokens: { type: 'string', default: '8000' },
    ratio: { type: 'string', default: '1.3' },
    json: { type: 'boolean', default: false },
  },
});
const families = values.families.split(',') as Family[];
const chosen = readRecordings().filter(({ group }) => families.includes(familyOf(group)));
const recordings = chosen.slice(0, sampleSize(chosen.length, 8));
const turns = measureTurns(recordings);
const rows: PrefixRow[] = [];
const maxTokens = Number(values.tokens);
const sizes = { maxTokens, tokenThreshold: Math.round(maxTokens * Number(values.ratio)) };
for (const share of SHARES) rows.push(await measurePasses(recordings, sizes, share));
if (values.json) console.log(JSON.stringify({ turns, rows }));
else {
  console.log('between turns: unchanged start of the next request, in % of the bytes of the request before (minimum)');
  console.table(turns);
  console.log(`over a compaction to ${maxTokens} tokens: unchanged start of the next request, in %`);
  console.table(rows);
}

/**
 * Measures a recall search over 10,000 messages: `node bench/recall.ts`. Target: a search of the index takes at most 10 ms
 * (median). The ratio compares it with a search that reads the whole log.
 */
import { buildLog, type Message } from '../src/domain/message.ts';
import { RecallSearch, readQuery } from '../src/domain/recall.ts';
import { RecallIndex } from '../src/domain/recall-index.ts';
import { runToEnd } from '../src/domain/sliced.ts';
import { START_VERSION } from '../src/domain/version.ts';
import { describeSpread, spreadOf, timeMs } from './spread.ts';

const MESSAGES = 10_000;
const RUNS = 15;
const QUERIES = ['order W104711', 'plain text with words', 'src/module_12/file_712.ts', '4711', 'work reads order'];

const messages = Array.from(
  { length: MESSAGES },
  (_, at): Message => ({
    role: at % 2 === 0 ? 'user' : 'assistant',
    content: `Step ${at} reads src/module_${at % 700}/file_${at}.ts for order #W${100_000 + at}.\n${'a line of plain text with words '.repeat(8)}`,
  }),
);
const entries = buildLog(messages.map((message) => ({ message, tokens: 100, bytes: 400 })));

const index = new RecallIndex();
const buildMs = timeMs(() => runToEnd(index.add(entries)));
process.stdout.write(`index of ${MESSAGES} messages: ${Math.round(buildMs)} ms\n`);

for (const query of QUERIES) {
  const searched: number[] = [];
  const scanned: number[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    searched.push(timeMs(() => index.search({ query, from: 1, to: MESSAGES, most: 20 })));
    scanned.push(
      timeMs(() => {
        const search = new RecallSearch(readQuery(query), START_VERSION.segments);
        for (const entry of entries) runToEnd(search.add(entry));
        return search.rank();
      }),
    );
  }
  const [fast, slow] = [spreadOf(searched), spreadOf(scanned)];
  process.stdout.write(`${query}: ${describeSpread(fast)}, log ${describeSpread(slow)}\n`);
}

/**
 * Measures rendering and validating a request of 200,000 tokens in each wire format: `node bench/wire.ts [--json]`.
 * Target: at most 30 ms (median). For comparison, the same runs write and parse the body as plain JSON.
 */
import type { Message } from '../src/domain/message.ts';
import { WIRE_FORMATS, type WireFormat } from '../src/domain/raw-items.ts';
import { wireFormats } from '../src/wire/formats.ts';
import { countMessage } from '../src/wire/tokens/message-tokens.ts';
import { loadTokenCounter } from '../src/wire/tokens/token-counter.ts';
import type { WireRequest } from '../src/wire/wire-request.ts';
import { readTexts } from '../test/tokens/corpus.ts';
import { sampleSize } from './sample-size.ts';
import { describeSpread, type Spread, spreadOf, timeMs } from './spread.ts';

const TOKENS = sampleSize(200_000, 10_000);
const RUNS = sampleSize(31, 3);
const WARM_UP = sampleSize(15, 1);
const TARGET_MS = 30;

/** Characters of a message. Shorter ones would give more than the 2,048 messages that OpenAI accepts. */
const HISTORIES = { 'short messages': 420, 'long messages': 4_000 } as const;

interface Row {
  readonly history: string;
  readonly format: WireFormat;
  readonly messages: number;
  readonly kilobytes: number;
  readonly renderMs: Spread;
  readonly validateMs: Spread;
  readonly bothMs: Spread;
  readonly jsonMs: Spread;
  /** Rendering and validating, divided by plain JSON, run by run. */
  readonly ratio: Spread;
}

/**
 * Builds turns of a question, tool rounds of one to four calls, and an answer, until they have the given number of
 * tokens.
 */
async function buildHistory(length: number): Promise<Message[]> {
  const counter = await loadTokenCounter('o200k_base');
  const source = Object.values(readTexts()).join('\n');
  let offset = 0;
  const cut = (units: number): string => {
    offset = (offset + units) % (source.length - units);
    return source.slice(offset, offset + units).toWellFormed();
  };
  const messages: Message[] = [];
  let tokens = 0;
  for (let turn = 0; tokens < TOKENS; turn += 1) {
    const added = buildTurn(turn, messages.length, (units) => cut(units ?? length));
    for (const message of added) tokens += await countMessage(counter, message);
    messages.push(...added);
  }
  return [...messages, { role: 'user', content: 'Go on.' }];
}

/** @param cut returns text of the given length, or of the history's own length */
function buildTurn(turn: number, first: number, cut: (units?: number) => string): Message[] {
  const messages: Message[] = [{ role: 'user', content: cut() }];
  for (let round = 0; round < 3; round += 1) {
    const ids = Array.from({ length: 1 + ((turn + round) % 4) }, (_, call) => `c${first + messages.length}_${call}`);
    const toolCalls = ids.map((id) => ({ id, name: 'read', arguments: JSON.stringify({ path: cut(40) }) }));
    messages.push({ role: 'assistant', content: cut(60), toolCalls });
    messages.push(...ids.map((toolCallId): Message => ({ role: 'tool', toolCallId, content: cut() })));
  }
  return [...messages, { role: 'assistant', content: cut() }];
}

async function measure(history: keyof typeof HISTORIES, format: WireFormat): Promise<Row> {
  const { render, validate } = wireFormats[format];
  const request: WireRequest = {
    model: 'bench',
    system: 'Answer from the files.',
    tools: [{ name: 'read', description: 'Reads a file.', parameters: { type: 'object' } }],
    messages: await buildHistory(HISTORIES[history]),
    maxOutputTokens: 8_192,
  };
  const { body } = render(request);
  const json = JSON.stringify(body);
  const context = { tokens: TOKENS, usableTokens: TOKENS, maxBytes: 2 * Buffer.byteLength(json) };
  const broken = validate(body, context);
  if (broken.length > 0) throw new Error(`${format}: ${JSON.stringify(broken[0])}`);
  const run = () => ({
    renderMs: timeMs(() => render(request)),
    validateMs: timeMs(() => validate(body, context)),
    jsonMs: timeMs(() => JSON.parse(JSON.stringify(body))),
  });
  for (let index = 0; index < WARM_UP; index += 1) run();
  const runs = Array.from({ length: RUNS }, run);
  return {
    history,
    format,
    messages: request.messages.length,
    kilobytes: Math.round(Buffer.byteLength(json) / 1_000),
    renderMs: spreadOf(runs.map(({ renderMs }) => renderMs)),
    validateMs: spreadOf(runs.map(({ validateMs }) => validateMs)),
    bothMs: spreadOf(runs.map(({ renderMs, validateMs }) => renderMs + validateMs)),
    jsonMs: spreadOf(runs.map(({ jsonMs }) => jsonMs)),
    ratio: spreadOf(runs.map(({ renderMs, validateMs, jsonMs }) => (renderMs + validateMs) / jsonMs)),
  };
}

const rows: Row[] = [];
for (const history of Object.keys(HISTORIES) as (keyof typeof HISTORIES)[]) {
  for (const format of WIRE_FORMATS) rows.push(await measure(history, format));
}
if (process.argv.includes('--json'))
  console.log(JSON.stringify({ tokens: TOKENS, runs: RUNS, targetMs: TARGET_MS, rows }));
else {
  console.log(
    `render and validate of ${TOKENS} tokens, ${RUNS} runs, ms: median (min–max), both have ${TARGET_MS}, ratio: both ÷ JSON`,
  );
  console.table(
    rows.map((row) => ({
      ...row,
      renderMs: describeSpread(row.renderMs),
      validateMs: describeSpread(row.validateMs),
      bothMs: describeSpread(row.bothMs),
      jsonMs: describeSpread(row.jsonMs),
      ratio: describeSpread(row.ratio),
    })),
  );
}

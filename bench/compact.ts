/**
 * Measures `POST /v1/responses/compact` without a model, for a conversation of 200,000 tokens: `node bench/compact.ts
 * [--json]`. The target is 50 ms in a process that has answered such requests before.
 */
import { compactApp } from '../src/api/http/compact/compact-app.ts';
import { loadTokenCounter } from '../src/wire/tokens/token-counter.ts';
import { mixedHistory, realisticTexts } from './plan-histories.ts';
import { sampleSize } from './sample-size.ts';
import { describeSpread, spreadOf } from './spread.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

const TOKENS = sampleSize(200_000, 4_000);
const WARM_UP = sampleSize(20, 1);
const RUNS = sampleSize(30, 3);
const TARGET_MS = 50;

const counter = await loadTokenCounter('o200k_base');
const input: object[] = [];
let tokens = 0;
for (const { role, content, toolCalls = [], toolCallId } of mixedHistory(4_000, realisticTexts(1))) {
  if (tokens >= TOKENS) break;
  tokens += await counter.count(content);
  for (const call of toolCalls) tokens += await counter.count(call.arguments);
  if (role === 'tool') input.push({ type: 'function_call_output', call_id: toolCallId, output: content });
  else if (content !== '') input.push({ type: 'message', role, content });
  for (const { id, name, arguments: written } of toolCalls) {
    input.push({ type: 'function_call', call_id: id, name, arguments: written });
  }
}

const app = compactApp({ authenticate: 'none' });
const body = JSON.stringify({ model: 'structural', input });
const wall: number[] = [];
const cpu: number[] = [];
let output = '';
for (let run = 0; run < WARM_UP + RUNS; run += 1) {
  const before = process.threadCpuUsage();
  const startedMs = performance.now();
  const answer = await app.request('/v1/responses/compact', { method: 'POST', headers: JSON_TYPE, body });
  if (!answer.ok) throw new Error(await answer.text());
  output = await answer.text();
  const { user, system } = process.threadCpuUsage(before);
  if (run < WARM_UP) continue;
  wall.push(performance.now() - startedMs);
  cpu.push((user + system) / 1_000);
}
const result = { tokens, items: input.length, bytes: body.length, outputBytes: output.length };
const spreads = { wallMs: spreadOf(wall), cpuMs: spreadOf(cpu) };
if (process.argv.includes('--json')) console.log(JSON.stringify({ ...result, ...spreads }));
else {
  console.log(`${tokens} tokens, ${input.length} items, ${body.length} bytes → ${output.length} bytes`);
  console.log(`time      ${describeSpread(spreads.wallMs)} ms (target ${TARGET_MS})`);
  console.log(`CPU time  ${describeSpread(spreads.cpuMs)} ms`);
}

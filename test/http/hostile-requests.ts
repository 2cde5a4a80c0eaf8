import { expect } from 'vitest';
import { maxHeldMs, measureHeldMs } from '../setup/held-loop.ts';
import type { OutsideAnswer, OutsidePoster } from './outside-poster.ts';

/** A field of a request that takes JSON from outside. */
export interface Place {
  readonly name: string;
  readonly path: string;
  /** Writes the body of a request whose field is this JSON. */
  readonly wrap: (json: string) => string;
}

const ONE = '/v1/conversations/c1';
const message = (fields: string): string =>
  `{"agent":"talker","messages":[{"role":"assistant","content":"x",${fields}}]}`;

export const PLACES: readonly Place[] = [
  { name: 'a body', path: `${ONE}/messages`, wrap: (json) => json },
  { name: 'messages', path: `${ONE}/messages`, wrap: (json) => `{"agent":"talker","messages":${json}}` },
  { name: 'toolCalls', path: `${ONE}/messages`, wrap: (json) => message(`"toolCalls":${json}`) },
  { name: 'tool_calls', path: `${ONE}/messages`, wrap: (json) => message(`"tool_calls":${json}`) },
  {
    name: 'arguments',
    path: `${ONE}/messages`,
    wrap: (json) => message(`"tool_calls":[{"id":"x","function":{"name":"f","arguments":${json}}}]`),
  },
  { name: 'raw', path: `${ONE}/messages`, wrap: (json) => message(`"raw":${json}`) },
  { name: 'parts', path: `${ONE}/messages`, wrap: (json) => message(`"parts":${json}`) },
  {
    name: 'content',
    path: `${ONE}/messages`,
    wrap: (json) => `{"agent":"talker","messages":[{"role":"user","content":${json}}]}`,
  },
  {
    name: 'imported messages',
    path: '/v1/conversations/c2/import',
    wrap: (json) => `{"agent":"talker","messages":${json}}`,
  },
  { name: 'answers', path: `${ONE}/turns/t1/answers`, wrap: (json) => `{"answers":${json}}` },
  { name: 'input', path: `${ONE}/turns`, wrap: (json) => `{"agent":"talker","input":${json}}` },
  { name: 'context', path: `${ONE}/turns`, wrap: (json) => `{"agent":"talker","input":"x","context":${json}}` },
  { name: 'parts of a turn', path: `${ONE}/turns`, wrap: (json) => `{"agent":"talker","input":"x","parts":${json}}` },
  { name: 'turns', path: '/v1/turns', wrap: (json) => `{"turns":${json}}` },
  {
    name: 'a turn',
    path: '/v1/turns',
    wrap: (json) => `{"turns":[{"conversation":"c1","agent":"talker","input":${json}}]}`,
  },
  { name: 'policy', path: `${ONE}/compact`, wrap: (json) => `{"dryRun":true,"policy":${json}}` },
  { name: 'edits', path: `${ONE}/proposals/p1/approve`, wrap: (json) => `{"edits":${json}}` },
  { name: 'fork', path: `${ONE}/fork`, wrap: (json) => `{"to":${json}}` },
  {
    name: 'input of a response',
    path: '/v1/responses',
    wrap: (json) => `{"model":"talker","background":true,"input":${json}}`,
  },
  {
    name: 'content of a response',
    path: '/v1/responses',
    wrap: (json) => `{"model":"talker","background":true,"input":[{"role":"user","content":${json}}]}`,
  },
  {
    name: 'messages of a chat',
    path: '/v1/chat',
    wrap: (json) => `{"id":"c1","messages":${json}}`,
  },
  {
    name: 'parts of a chat',
    path: '/v1/chat',
    wrap: (json) => `{"id":"c1","messages":[{"id":"m1","role":"user","parts":${json}}]}`,
  },
  { name: 'messages of a run', path: '/v1/ag-ui', wrap: (json) => `{"threadId":"c1","runId":"r1","messages":${json}}` },
  {
    name: 'resume of a run',
    path: '/v1/ag-ui',
    wrap: (json) => `{"threadId":"c1","runId":"r1","messages":[],"resume":${json}}`,
  },
  {
    name: 'input of a compaction',
    path: '/v1/responses/compact',
    wrap: (json) => `{"model":"structural","input":${json}}`,
  },
];

/** Memory that V8 may hold as garbage, whatever a request needs. */
const GARBAGE_BYTES = 48_000_000;
const MEMORY_FACTOR = 20;
const ATTEMPTS = 4;
/** The limit for this machine, measured once, because measuring it takes longer than a request. */
const LIMIT_MS = maxHeldMs();

/** Posts a body and checks from inside that the server held its event loop shortly and took little memory. */
export async function postHostile(
  poster: OutsidePoster,
  url: string,
  body: Buffer,
  name: string,
): Promise<OutsideAnswer> {
  let answer: OutsideAnswer | undefined;
  let heldMs = Number.POSITIVE_INFINITY;
  // Garbage of earlier requests comes once. The memory of this request comes with each attempt.
  let leastPeak = Number.POSITIVE_INFINITY;
  const maxBytes = MEMORY_FACTOR * body.length + GARBAGE_BYTES;
  for (let attempt = 0; attempt < ATTEMPTS && (heldMs >= LIMIT_MS || leastPeak >= maxBytes); attempt += 1) {
    const before = countBytes();
    let peak = 0;
    let isDone = false;
    const look = (): void => {
      peak = Math.max(peak, countBytes() - before);
      if (!isDone) setImmediate(look);
    };
    look();
    heldMs = Math.min(heldMs, await measureHeldMs(async () => (answer = await poster.post(url, body))));
    isDone = true;
    leastPeak = Math.min(leastPeak, peak);
  }
  expect(leastPeak, `memory of ${name}`).toBeLessThan(maxBytes);
  expect(heldMs, `the event loop was held by ${name}`).toBeLessThan(LIMIT_MS);
  expect(answer?.status, `${name}: ${answer?.text}`).toBeLessThan(500);
  return answer as OutsideAnswer;
}

function countBytes(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

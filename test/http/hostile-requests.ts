import { expect } from 'vitest';
import { expectFrugal } from '../setup/frugal.ts';
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

/** Posts a body and checks from inside that the server held its event loop shortly and took little memory. */
export async function postHostile(
  poster: OutsidePoster,
  url: string,
  body: Buffer,
  name: string,
): Promise<OutsideAnswer> {
  let answer: OutsideAnswer | undefined;
  await expectFrugal(name, body.length, async () => (answer = await poster.post(url, body)));
  expect(answer?.status, `${name}: ${answer?.text}`).toBeLessThan(500);
  return answer as OutsideAnswer;
}

import { afterAll, beforeAll, expect, test } from 'vitest';
import { type HttpFixture, openHttpFixture } from './fixture.ts';
import { PLACES, postHostile } from './hostile-requests.ts';
import { OutsidePoster } from './outside-poster.ts';
import { withProtocols } from './random-requests.ts';

let http: HttpFixture;
let url: string;
const poster = new OutsidePoster();
beforeAll(async () => {
  http = await openHttpFixture();
  ({ url } = await http.serve(withProtocols(http.client)));
});
afterAll(async () => {
  await poster.close();
  await http.close();
});

const list = (members: number): string => `[${Array(members).fill('{}').join(',')}]`;
const answers = (members: number): string => `{${Array.from({ length: members }, (_, at) => `"c${at}":{}`).join(',')}}`;

test.each([
  ['toolCalls', list(1_390_000), { status: 413, code: 'message_too_large', field: 'body' }],
  ['toolCalls', list(20_000), { status: 422, code: 'invalid_input', field: 'messages[0].toolCalls' }],
  ['tool_calls', list(20_000), { status: 422, code: 'invalid_input', field: 'messages[0].tool_calls' }],
  ['messages of a chat', list(1_390_000), { status: 413, code: 'message_too_large', field: 'body' }],
  ['answers', answers(300_000), { status: 413, code: 'message_too_large', field: 'body' }],
  ['answers', answers(15_000), { status: 422, code: 'invalid_input', field: 'answers' }],
  ['policy', answers(15_000), { status: 422, code: 'invalid_input', field: 'policy' }],
])('%s with too many members are refused before they block the event loop', async (name, json, expected) => {
  const place = PLACES.find((known) => known.name === name);
  if (place === undefined) throw new Error(`no place ${name}`);
  const { status, text } = await postHostile(poster, url + place.path, Buffer.from(place.wrap(json)), name);
  const { code, field } = JSON.parse(text) as { code: string; field: string };
  expect({ status, code, field }).toEqual(expected);
});

test('5,000 messages with tool calls are appended by one request, and 500 turns by another', async () => {
  const messages = Array.from({ length: 2_500 }, (_, at) => [
    {
      role: 'assistant',
      content: 'I look.',
      toolCalls: [{ id: `c${at}`, name: 'look_up', arguments: `{"order":${at}}` }],
    },
    { role: 'tool', toolCallId: `c${at}`, content: 'shipped '.repeat(50) },
  ]).flat();
  const appended = Buffer.from(JSON.stringify({ agent: 'talker', messages }));
  const path = '/v1/conversations/long/messages';
  expect(await postHostile(poster, url + path, appended, 'a long history')).toMatchObject({ status: 201 });
  const turns = Array.from({ length: 500 }, (_, at) => ({
    conversation: `t${at}`,
    agent: 'talker',
    input: 'x'.repeat(7_000),
  }));
  const enqueued = Buffer.from(JSON.stringify({ turns }));
  expect(await postHostile(poster, `${url}/v1/turns`, enqueued, 'many turns')).toMatchObject({ status: 200 });
});

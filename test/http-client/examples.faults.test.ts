import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openHttpClient } from '../../src/api/http-client/index.ts';
import { FaultyProxy } from '../chaos/faulty-proxy.ts';
import { createTalker, type Fixture, openFixture } from '../client/fixture.ts';
import { serveClient } from '../client/over-http.ts';
import { messagesOf, ReadTurn } from '../client/read-parts.ts';
import { CURL, findMissing, PYTHON, runScript, type Script } from './scripts.ts';

const agent = 'talker';
let fixture: Fixture;
let url: string;
let stop: () => Promise<void>;
beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([createTalker()]);
  ({ url, stop } = await serveClient(fixture.client));
});
afterAll(async () => {
  await stop();
  await fixture.close();
});

/** A proxy that cuts its connections once, right after the first event of a stream. */
async function cutOnce(): Promise<{ readonly behind: string; readonly cuts: () => number }> {
  const proxy = await FaultyProxy.listen(Number(new URL(url).port));
  onTestFinished(() => proxy.close());
  let cuts = 0;
  proxy.swallow((answer) => {
    if (cuts === 0 && answer.includes('event: ')) {
      cuts += 1;
      setTimeout(() => proxy.cut());
    }
    return false;
  });
  return { behind: proxy.url.replace('redis:', 'http:'), cuts: () => cuts };
}

describe.each<[string, Script]>([
  ['curl', CURL],
  ['Python', PYTHON],
])('the example for %s', (name, script) => {
  test('the example sends a turn, approves its call, continues its stream after a cut, and prints the result', async ({
    skip,
  }) => {
    const missing = findMissing(script);
    if (missing !== undefined) return skip(`${missing} is not installed`);
    const { behind, cuts } = await cutOnce();
    const { turn } = await runScript(script, behind, [`approve-${name}`, agent, 'call risk', 'key-1']);
    expect(turn).toMatchObject({ agent, state: 'completed', answer: { content: 'risked' } });
    expect(cuts()).toBe(1);
  });

  test('the example follows the same turn when it is repeated with its idempotency key', async ({ skip }) => {
    const missing = findMissing(script);
    if (missing !== undefined) return skip(`${missing} is not installed`);
    const args = [`again-${name}`, agent, 'say "hi" to C:\\', 'key-1'];
    const first = await runScript(script, url, args);
    expect((await runScript(script, url, args)).turn).toEqual(first.turn);
    expect(first.turn).toMatchObject({ answer: { content: 'heard say "hi" to C:\\' } });
    expect(await fixture.client.log(`again-${name}`)).toHaveLength(2);
  });
});

test('curl, Python, the client over Redis and the client over HTTP drive one conversation', async ({ skip }) => {
  const missing = findMissing(CURL) ?? findMissing(PYTHON);
  if (missing !== undefined) return skip(`${missing} is not installed`);
  const conversation = 'shared';
  const http = openHttpClient({ url });
  onTestFinished(() => http.close());
  const answers: unknown[] = [];
  const { turn: byCurl } = await runScript(CURL, url, [conversation, agent, 'call risk', 'by-curl']);
  const { turn: byPython } = await runScript(PYTHON, url, [conversation, agent, 'call risk', 'by-python']);
  answers.push(byCurl['answer'], byPython['answer']);
  for (const [client, other] of [
    [fixture.client, http],
    [http, fixture.client],
  ] as const) {
    const { turn } = await client.enqueueTurn({ conversation, agent, input: 'call ask' });
    const reader = new ReadTurn();
    for await (const part of client.stream(conversation, turn)) {
      reader.add(part);
      if (part.type !== 'wait') continue;
      // The call that one client waits for is answered through the other one.
      const calls = part.waiting.calls.map(({ id }) => [id, { content: 'answered' }]);
      expect(await other.answer(conversation, turn, Object.fromEntries(calls))).toBe('answered');
    }
    answers.push((await other.result(conversation, turn)).answer);
    expect(reader.messages).toEqual(messagesOf(await other.log(conversation), turn));
  }
  expect(answers).toMatchObject(['risked', 'risked', 'answered', 'answered'].map((content) => ({ content })));
  const [log, read] = [await fixture.client.log(conversation), await http.log(conversation)];
  expect(read).toEqual(log);
  expect(log.filter(({ message }) => message.role === 'user')).toHaveLength(4);
  expect(await http.context(conversation)).toEqual(await fixture.client.context(conversation));
  expect(await http.describe(conversation)).toEqual(await fixture.client.describe(conversation));
  // Each program sees the same turn under its own key again.
  expect((await runScript(PYTHON, url, [conversation, agent, 'call risk', 'by-curl'])).turn).toEqual(byCurl);
});

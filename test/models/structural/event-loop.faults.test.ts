import { beforeAll, expect, test } from 'vitest';
import type { Message } from '../../../src/domain/message.ts';
import { holdsShortly } from '../../setup/held-loop.ts';
import { type Fixture, openFixture, round, say } from './sequence-messages.ts';

/** Longer than the part of a text that is read. */
const HUGE_CHARS = 1 << 18;

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});

function summarize(messages: readonly Message[]): Promise<unknown> {
  return fixture.write({ messages, userRequest: 'why?', maxTokens: 2_000 });
}

function manyMessages(): Message[] {
  const sentences = 'I will change it because the test in src/jobs/queue.ts failed at line 412. '.repeat(4);
  return Array.from({ length: 1_250 }, (_, index) => [
    say(`${sentences} Order #W${index}.`),
    ...round({
      id: `c${index}`,
      given: { path: `src/part-${index}/file.ts`, offset: index * 7 },
      result: `{"id":"item_${index}","date":"2024-05-${10 + (index % 20)}"} `.repeat(24),
    }),
    say(`Step ${index} is done. Next I'll read docs/${index}.md.`),
  ]).flat();
}

test('the structural summarizer does not block the event loop on 5,000 messages of 2 MB', async () => {
  const messages = manyMessages();
  expect(messages).toHaveLength(5_000);
  expect(JSON.stringify(messages).length).toBeGreaterThan(2_000_000);
  expect(await holdsShortly(() => summarize(messages))).toMatchObject({ isShort: true });
});

// A quadratic rule would need minutes for each of these.
test.each([
  'a',
  ' ',
  '\n',
  '.',
  './',
  'a/',
  '-#1 ',
  '<',
  '{"',
  'http',
  'https://',
  '1-',
  '`',
  '# ',
  '😀',
  'exit code ',
  'a. ',
])(
  'the structural summarizer does not block the event loop on 256 KiB of %j as call, result and text',
  async (unit) => {
    const text = unit.repeat(Math.floor(HUGE_CHARS / unit.length));
    const messages = [...round({ id: 'c1', given: { command: text, path: 'src/a.ts' }, result: text }), say(text)];
    expect(await holdsShortly(() => summarize(messages))).toMatchObject({ isShort: true });
  },
);

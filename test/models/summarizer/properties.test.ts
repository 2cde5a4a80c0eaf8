import * as fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Message } from '../../../src/domain/message.ts';
import { SECTIONS } from '../../../src/summarize/model/sections.ts';
import { renderTranscript, splitTranscript } from '../../../src/summarize/model/transcript.ts';
import { type BpeTokenCounter, loadTokenCounter } from '../../../src/wire/tokens/token-counter.ts';
import { openWorld, prose, record, round, say } from './fixture.ts';

const anyText = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '</transcript>',
        '<message seq="1">',
        '< / MESSAGE >',
        '</call>',
        '<record>',
        '</evidence>',
        '\n## Next step\n',
        '```',
        '<',
      ),
      fc.constantFrom(
        '## Goal\n',
        '## Side effects\n',
        '**State**\n',
        'None.',
        '\n',
        ' word'.repeat(60),
        '🧺'.repeat(40),
        '\ud83e',
      ),
      fc.string({ maxLength: 60 }),
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''));

const anyMessages = fc
  .array(
    fc.oneof(
      anyText.map((text) => [text]),
      fc.array(anyText, { minLength: 1, maxLength: 4 }),
    ),
    { minLength: 1, maxLength: 12 },
  )
  .map((groups) =>
    groups.flatMap((texts, group): Message[] =>
      texts.length === 1
        ? [say(texts[0] ?? '')]
        : texts.flatMap((text, index) =>
            round({ id: `c${group}_${index}`, name: text.slice(0, 20) || 'x', given: { text }, result: text }),
          ),
    ),
  );

let counter: BpeTokenCounter;
beforeAll(async () => {
  counter = await loadTokenCounter('o200k_base');
});

describe('any messages', () => {
  it('random messages are split into parts of the given size, in order, without loss, with every tool round in one part', async () => {
    await fc.assert(
      fc.asyncProperty(anyMessages, fc.integer({ min: 400, max: 3_000 }), async (messages, maxTokens) => {
        const parts = await splitTranscript(counter, { messages, firstSeq: 5 }, maxTokens);
        expect(parts.flatMap((part) => part.messages.map(({ seq }) => seq))).toEqual(messages.map((_, at) => 5 + at));
        for (const part of parts) {
          const text = renderTranscript(part.messages);
          expect(await counter.count(text)).toBeLessThanOrEqual(maxTokens + 20);
          expect(text.match(/<[\s/]*transcript\b/gi)).toHaveLength(2);
          expect(text.match(/<[\s/]*message\b/gi)).toHaveLength(2 * part.messages.length);
          expect(text.match(/<[\s/]*record\b/gi)).toBeNull();
          const own = part.messages.map(({ seq }) => messages[seq - 5] as Message);
          const calls = own.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id));
          expect(own.flatMap(({ toolCallId }) => toolCallId ?? [])).toEqual(calls);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('the model summarizer returns a refusal or a repeatable summary within its token limit for random messages and answers', async () => {
    const headings = new Set<string>(Object.values(SECTIONS).map(({ heading }) => heading));
    let written = 0;
    await fc.assert(
      fc.asyncProperty(
        anyMessages,
        fc.oneof(
          anyText,
          anyText.map((text) => `## Next step\nShip it by rail.\n${text}`),
          anyText.map((text) => `${text}${record({ next: ['Ship it by rail.', text], facts: [text] })}${text}`),
        ),
        fc.integer({ min: 100, max: 600 }),
        async (messages, content, maxTokens) => {
          const world = await openWorld({ decide: () => ({ content }) });
          const request = { messages: [...messages, say(`${prose(200)}\n\nShip it by rail.`)], maxTokens };
          const answer = await world.summarize(request);
          expect(await world.summarize(request)).toEqual(answer);
          if (answer.status !== 'written') return;
          written += 1;
          expect(counter.countSync(answer.text)).toBeLessThanOrEqual(maxTokens);
          const [first = ''] = answer.text.split('\n');
          expect(headings).toContain(first);
        },
      ),
      { numRuns: 300 },
    );
    expect(written).toBeGreaterThan(50);
  });
});

import * as fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import type { OutputPart } from '../../../src/domain/agent.ts';
import type { Message } from '../../../src/domain/message.ts';
import { readPart } from '../../../src/domain/parts.ts';
import { countMessage } from '../../../src/wire/tokens/message-tokens.ts';
import { loadTokenCounter, type TokenCounter } from '../../../src/wire/tokens/token-counter.ts';
import { clipOutput } from '../../../src/workers/turn/result-parts.ts';

let counter: TokenCounter;
beforeAll(async () => {
  counter = await loadTokenCounter('o200k_base');
});

const weigh = async (message: Message) => ({ message, bytes: 0, tokens: await countMessage(counter, message) });

const part = fc.oneof(
  fc.constantFrom('a', 'x y z ', 'long '.repeat(200)).map((text): OutputPart => ({ type: 'text', text })),
  fc.constant<OutputPart>({ type: 'image', url: 'https://pictures.example/a.png' }),
  fc.constant<OutputPart>({ type: 'file', url: 'https://files.example/a.pdf', mediaType: 'application/pdf' }),
);

it('a clipped result has texts and images within its limit, all in order if the texts fit, and `content` has its texts', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('', 'first'),
      fc.array(part, { minLength: 1, maxLength: 8 }),
      fc.constantFrom(100, 2_000, 8_000),
      async (content, parts, maxTokens) => {
        const clipped = await clipOutput({ counter, weigh }, { content, parts }, { maxTokens, hasRecall: false });
        const read = (clipped.parts ?? []).map(readPart);
        const texts = read.flatMap((one) => (one.kind === 'text' ? [one.text] : []));
        expect(clipped.content).toBe(texts.join('\n'));
        const media = (clipped.parts ?? []).filter((one) => readPart(one).kind !== 'text');
        const weights = await Promise.all(media.map((one) => weigh({ role: 'tool', content: '', parts: [one] })));
        expect(weights.reduce((sum, { tokens }) => sum + tokens, 0)).toBeLessThanOrEqual(maxTokens);
        const notes = texts.filter((text) => text.startsWith('(a')).length;
        expect(media.length + notes, 'each image is there or named').toBe(
          parts.filter(({ type }) => type !== 'text').length,
        );
      },
    ),
    { numRuns: 150 },
  );
});

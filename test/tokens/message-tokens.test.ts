import { describe, expect, test } from 'vitest';
import { bytesOfMessage, countMessage, countMessageSync } from '../../src/wire/tokens/message-tokens.ts';
import { PICTURE_TOKENS } from '../../src/wire/tokens/picture-tokens.ts';
import { loadTokenCounter } from '../../src/wire/tokens/token-counter.ts';

const message = {
  content: 'Größe? 好 \ud800',
  toolCalls: [
    { name: 'read', arguments: '{"path":"a.ts"}' },
    { name: 'list', arguments: '{}' },
  ],
};
const text = 'Größe? 好 \ud800read{"path":"a.ts"}list{}';

describe('size of a message', () => {
  test('a message has the tokens of its text, call names and arguments, plus four', async () => {
    const counter = await loadTokenCounter('o200k_base');
    expect(await countMessage(counter, message)).toBe(counter.encode(text).length + 4);
    expect(await countMessage(counter, { content: '' })).toBe(4);
  });

  test('the size of a message counts the UTF-8 bytes of its text, and three for half of a surrogate pair', () => {
    expect(bytesOfMessage(message)).toBe(new TextEncoder().encode(text).length);
    expect(bytesOfMessage({ content: '\ud800', toolCalls: undefined })).toBe(3);
  });

  test('the size of a message includes its text parts, and a fixed number of tokens for each image', async () => {
    const counter = await loadTokenCounter('o200k_base');
    const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'A'.repeat(4_000) } };
    const parts = [{ type: 'text', text: 'What is this?' }, picture];
    const counted = { content: '', parts };
    expect(await countMessage(counter, counted)).toBe(counter.encode('What is this?').length + PICTURE_TOKENS + 4);
    expect(countMessageSync(counter, counted)).toBe(await countMessage(counter, counted));
    expect(bytesOfMessage(counted)).toBe('What is this?'.length + 4_000);
  });

  test('text that is in both content and parts of a message counts once', async () => {
    const counter = await loadTokenCounter('o200k_base');
    const both = { content: 'Hello there.', parts: [{ type: 'text', text: 'Hello there.' }] };
    expect(await countMessage(counter, both)).toBe(await countMessage(counter, { content: 'Hello there.' }));
  });
});

test.each([
  ['its page objects', { data: Buffer.from('/Type /Page /Type/Page /Type /Pages').toString('base64') }, 2],
  ['its size, if the pages are hidden', { data: Buffer.alloc(120_000).toString('base64') }, 3],
  ['ten pages, if only its URL is known', { url: 'https://files.example/a.pdf' }, 10],
  ['the size of its reference', { reference: 'key', mediaType: 'application/pdf', bytes: 100_001 }, 3],
])('the tokens of a PDF are estimated from %s', async (_, given, pages) => {
  const counter = await loadTokenCounter('o200k_base');
  const part = { type: 'file', mediaType: 'application/pdf', ...given };
  const empty = await countMessage(counter, { content: '', parts: [{ type: 'text', text: '' }] });
  expect((await countMessage(counter, { content: '', parts: [part] })) - empty).toBe(pages * 4_600);
});

test('a text file counts as many tokens as its text', async () => {
  const counter = await loadTokenCounter('o200k_base');
  const data = Buffer.from('one two three').toString('base64');
  const file = { content: '', parts: [{ type: 'file', data, mediaType: 'text/plain' }] };
  expect(await countMessage(counter, file)).toBe(await countMessage(counter, { content: 'one two three' }));
});

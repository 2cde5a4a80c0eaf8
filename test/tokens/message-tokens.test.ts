import { describe, expect, test } from 'vitest';
import { bytesOfMessage, countMessage } from '../../src/tokens/message-tokens.ts';
import { loadTokenCounter } from '../../src/tokens/token-counter.ts';

const message = {
  content: 'Größe? 好 \ud800',
  toolCalls: [
    { name: 'read', arguments: '{"path":"a.ts"}' },
    { name: 'list', arguments: '{}' },
  ],
};
const text = 'Größe? 好 \ud800read{"path":"a.ts"}list{}';

describe('size of a message', () => {
  test('tokens are those of content, names and arguments, and four', async () => {
    const counter = await loadTokenCounter('o200k_base');
    expect(await countMessage(counter, message)).toBe(counter.encode(text).length + 4);
    expect(await countMessage(counter, { content: '' })).toBe(4);
  });

  test('bytes are those of the same text; a lone surrogate is three, as what replaces it', () => {
    expect(bytesOfMessage(message)).toBe(new TextEncoder().encode(text).length);
    expect(bytesOfMessage({ content: '\ud800', toolCalls: undefined })).toBe(3);
  });
});

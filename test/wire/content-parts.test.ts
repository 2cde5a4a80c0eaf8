import { describe, expect, test } from 'vitest';
import type { Message } from '../../src/domain/message.ts';
import type { WireFormat } from '../../src/domain/raw-items.ts';
import { wireFormats } from '../../src/wire/formats.ts';
import { PIXEL } from '../fakes/contents.ts';

const PDF = Buffer.from('%PDF-1.7 /Type /Page /Type /Pages').toString('base64');
const WEB = 'https://files.example/a.pdf';

const file = { type: 'file', data: PDF, mediaType: 'application/pdf', name: 'a.pdf' };
const ofUrl = { type: 'file', url: WEB };

function contentOf(format: WireFormat, parts: readonly unknown[], inputs?: readonly ('image' | 'pdf')[]): unknown {
  const messages: Message[] = [{ role: 'user', content: 'Read it.', parts: [...parts] }];
  const request = { model: 'm', system: '', tools: [], messages, maxOutputTokens: 100, ...(inputs && { inputs }) };
  const { body } = wireFormats[format].render(request);
  expect(wireFormats[format].validate(body)).toEqual([]);
  const { messages: sent, input } = body as { messages?: { content: unknown }[]; input?: { content: unknown }[] };
  return (sent ?? input)?.[0]?.content;
}

describe('content parts', () => {
  test('an Anthropic request has PDF files as blocks of the type `document`', () => {
    expect(contentOf('anthropic', [file, ofUrl])).toMatchObject([
      { type: 'text', text: 'Read it.' },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: PDF }, title: 'a.pdf' },
      { type: 'document', source: { type: 'url', url: WEB } },
    ]);
  });

  test('a Responses API request has PDF files as parts of the type `input_file`', () => {
    const file_data = `data:application/pdf;base64,${PDF}`;
    expect(contentOf('openai-responses', [file, ofUrl])).toEqual([
      { type: 'input_text', text: 'Read it.' },
      { type: 'input_file', filename: 'a.pdf', file_data },
      { type: 'input_file', file_url: WEB },
    ]);
  });

  test('a Chat Completions request has a PDF file by its bytes, and only the address of a PDF that is given by a URL', () => {
    const file_data = `data:application/pdf;base64,${PDF}`;
    expect(contentOf('openai-chat', [file, ofUrl])).toMatchObject([
      { type: 'text', text: 'Read it.' },
      { type: 'file', file: { filename: 'a.pdf', file_data } },
      { type: 'text', text: expect.stringContaining(WEB) },
    ]);
  });

  test.each<[string, unknown]>([
    ['of Anthropic', { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: PDF } }],
    ['of Chat Completions', { type: 'file', file: { file_data: `data:application/pdf;base64,${PDF}` } }],
    ['of the Responses API', { type: 'input_file', file_data: `data:application/pdf;base64,${PDF}` }],
  ])('a PDF in a message is read from the format %s', (_, part) => {
    expect(contentOf('anthropic', [part])).toMatchObject([{}, { type: 'document', source: { data: PDF } }]);
  });

  test('an Anthropic request has the contents of a text file as text, and only the name of another file', () => {
    const text = { type: 'file', data: Buffer.from('a;b').toString('base64'), mediaType: 'text/csv' };
    const sheet = { type: 'file', data: 'AAAA', mediaType: 'application/vnd.ms-excel' };
    expect(contentOf('anthropic', [text, sheet])).toMatchObject([
      {},
      { type: 'text', text: 'a;b' },
      { type: 'text', text: '(a file of type application/vnd.ms-excel is not shown)' },
    ]);
  });

  test.each<WireFormat>(['anthropic', 'openai-chat', 'openai-responses'])(
    'a request to a model that reads only text has a note in place of each image and PDF (%s)',
    (format) => {
      const image = { type: 'image', url: 'https://files.example/a.png' };
      const written = JSON.stringify(contentOf(format, [image, file], []));
      expect(written).toContain('(a picture is not shown, because the model reads none)');
      expect(written).toContain('(a file of type application/pdf is not shown, because the model reads none)');
      expect(written).not.toContain(PDF);
    },
  );

  test('a request in each format has the bytes of an image', () => {
    const image = { type: 'image', data: PIXEL, mediaType: 'image/png' };
    expect(contentOf('anthropic', [image])).toMatchObject([{}, { type: 'image', source: { data: PIXEL } }]);
    const data = `data:image/png;base64,${PIXEL}`;
    expect(contentOf('openai-chat', [image])).toMatchObject([{}, { image_url: { url: data } }]);
    expect(contentOf('openai-responses', [image])).toMatchObject([{}, { image_url: data }]);
  });
});

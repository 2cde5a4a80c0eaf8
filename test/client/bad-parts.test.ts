import { expect, test } from 'vitest';
import { importConversation } from '../../src/api/client/import.ts';
import type { TurnfoldClient } from '../../src/api/contract/client.ts';
import type { InputPart } from '../../src/api/contract/enqueue-input.ts';
import type { Message } from '../../src/domain/message.ts';
import { openEmbeddedStore } from '../../src/store/open-embedded-store.ts';
import { JPEG_PIXEL, PIXEL, SHORT_PDF } from '../fakes/contents.ts';
import { createMemoryClient } from './memory-client.ts';

const image = (data: string, mediaType = 'image/png') => ({ type: 'image', data, mediaType }) as const;
const file = (data: string, mediaType = 'application/pdf') => ({ type: 'file', data, mediaType }) as const;

const BAD: readonly (readonly [what: string, part: InputPart, why: RegExp])[] = [
  ['a picture that is not base64', image('!!!'), /not base64/],
  ['a picture in base64 without padding', image(PIXEL.replace(/=+$/, '')), /not base64/],
  ['a picture in base64 for URLs', image('_-_-'), /not base64/],
  ['a picture in base64 with line breaks', image(`${PIXEL.slice(0, 76)}\r\n${PIXEL.slice(76)}`), /not base64/],
  ['an empty picture', image(''), /empty/],
  ['a text that claims to be a picture', image(Buffer.from('Hello, picture!').toString('base64')), /no PNG/],
  ['the first bytes of a picture', image(PIXEL.slice(0, 20)), /whose size/],
  ['a picture of another type', image(PIXEL, 'image/jpeg'), /image\/png/],
  ['a JPEG file under the default type', { type: 'image', data: JPEG_PIXEL }, /image\/jpeg/],
  ['a PDF file without its header', file(PIXEL), /no PDF/],
  ['an empty text file', file('', 'text/plain'), /empty/],
  ['a media type of 200 characters', file(SHORT_PDF, `application/${'x'.repeat(200)}`), /media type/],
  ['a media type with a line break', file(SHORT_PDF, 'text/plain\n'), /media type/],
  ['a file: URL', { type: 'image', url: 'file:///etc/passwd' }, /http/],
  ['a javascript: URL', { type: 'file', url: 'javascript:alert(1)' }, /http/],
  ['a javascript: URL in the format of OpenAI', { type: 'image_url', image_url: { url: 'JavaScript:x' } }, /http/],
  ['a file: URL in the format of Anthropic', { type: 'document', source: { type: 'url', url: 'file:///x' } }, /http/],
  ['a blob: URL', { type: 'image', url: 'blob:https://a.test/1' }, /http/],
  ['an ftp: URL', { type: 'file', url: 'ftp://a.test/1.pdf' }, /http/],
  ['a data: URL that is not base64', { type: 'image', url: 'data:image/svg+xml,<svg/>' }, /data: URL/],
  ['a data: URL with broken data', { type: 'image', url: 'data:image/png;base64,!!!' }, /not base64/],
  ['an address that is no URL', { type: 'image', url: 'https://' }, /http/],
  ['a URL of 10,000 characters', { type: 'image', url: `https://a.test/${'a'.repeat(10_000)}` }, /8192/],
  ['a reference with a broken media type', { type: 'image', reference: 'k', mediaType: 'png' }, /media type/],
];

async function open() {
  const { store } = await openEmbeddedStore();
  return { store, client: createMemoryClient(store) };
}

async function expectRefused(call: (client: TurnfoldClient) => Promise<unknown>, field: string, why: RegExp) {
  const { store, client } = await open();
  await expect(call(client)).rejects.toMatchObject({
    code: 'invalid_input',
    field,
    message: expect.stringMatching(why) as string,
  });
  expect(await store.readConversation({ tenant: '_', id: 'c1' }), 'nothing is written').toBeUndefined();
}

const FINE = { type: 'image', data: PIXEL, mediaType: 'image/png' } as const;
const target = { conversation: 'c1', agent: 'a' };

test.each(BAD)('enqueueTurn, append and import refuse %s, and the error names the field', async (_, part, why) => {
  const messages: Message[] = [
    { role: 'user', content: 'one' },
    { role: 'user', content: 'two', parts: [FINE, part] },
  ];
  await expectRefused((client) => client.enqueueTurn({ ...target, input: 'x', parts: [FINE, part] }), 'parts[1]', why);
  await expectRefused((client) => client.append({ ...target, messages }), 'messages[1].parts[1]', why);
  await expectRefused(
    (client) => importConversation(client, { ...target, tenant: '_', messages }),
    'messages[1].parts[1]',
    why,
  );
  const { client } = await open();
  const [refused, enqueued] = await client.enqueueTurns([
    { ...target, input: 'x', parts: [part] },
    { ...target, input: 'x', parts: [FINE] },
  ]);
  expect(refused).toMatchObject({ status: 'refused', error: { code: 'invalid_input', field: 'parts[0]' } });
  expect(enqueued).toMatchObject({ status: 'enqueued' });
});

test.each<[string, InputPart]>([
  ['a PNG file', FINE],
  ['a JPEG file', image(JPEG_PIXEL, 'image/jpeg')],
  ['a PDF file', file(SHORT_PDF)],
  ['the bytes of a picture', { type: 'image', data: Buffer.from(PIXEL, 'base64'), mediaType: 'image/png' }],
  ['a data: URL', { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } }],
  ['an address', { type: 'image', url: 'HTTPS://a.test/a.png?sig=1%2F2' }],
  ['a text file', file(Buffer.from('a;b').toString('base64'), 'text/csv')],
  ['a reference', { type: 'file', reference: 'file:///k', mediaType: 'application/pdf' }],
])('enqueueTurn accepts a message part with %s', async (_, part) => {
  const { client } = await open();
  expect(await client.enqueueTurn({ ...target, input: 'x', parts: [part] })).toMatchObject({ isNew: true });
});

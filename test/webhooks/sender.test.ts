import type { LookupAddress } from 'node:dns';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { isPublicAddress } from '../../src/api/webhooks/addresses.ts';
import { createWebhookSender, type SenderOptions, type SendOutcome } from '../../src/api/webhooks/sender.ts';
import { openReceiver } from './receiver.ts';

/** A resolver that answers each question with the next list of addresses, and then with the last list again. */
function answerInTurn(...answers: readonly (readonly string[])[]) {
  const asked: string[] = [];
  const resolve = (host: string, _options: unknown, callback: (error: null, found: LookupAddress[]) => void): void => {
    asked.push(host);
    const addresses = answers[Math.min(asked.length, answers.length) - 1] ?? [];
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };
  return { asked, resolve: resolve as NonNullable<SenderOptions['resolve']> };
}

async function send(url: string, options: Partial<SenderOptions> = {}): Promise<SendOutcome> {
  const sender = createWebhookSender({ allowsPrivate: true, ...options });
  onTestFinished(() => sender.close());
  const { signal } = new AbortController();
  return await sender.send({ url, headers: { 'webhook-id': 'e1' }, body: '{"a":"ü"}', signal });
}

const REFUSED = { status: 'failed', why: 'private or special address refused', isFinal: false };

describe('addresses of webhooks', () => {
  test.each([
    '127.0.0.1',
    '10.1.2.3',
    '172.31.255.255',
    '192.168.0.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '198.18.0.1',
    '::1',
    '::',
    'fe80::1',
    'fc00::1',
    'ff02::1',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '64:ff9b::7f00:1',
    '2001:db8::1',
    '2002:7f00:1::',
    'localhost',
    '',
  ])('a webhook treats the address %j as not public', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  test.each(['8.8.8.8', '172.32.0.1', '192.167.255.255', '2606:4700::1111', '2a00:1450:4001::200e'])(
    'a webhook treats the address %j as public',
    (address) => {
      expect(isPublicAddress(address)).toBe(true);
    },
  );

  test.each([
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://0x7f.1/',
    'https://0177.0.0.1/',
    'https://127.1/',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://localhost/',
    'https://169.254.169.254/latest/meta-data',
  ])('a webhook to %s is refused', async (url) => {
    expect(await send(url, { allowsPrivate: false })).toEqual(REFUSED);
  });

  test('a webhook by http is refused unless private addresses are allowed', async () => {
    const { url, received } = await openReceiver();
    expect(await send(url, { allowsPrivate: false })).toMatchObject({ status: 'failed', why: 'only https is allowed' });
    expect(received).toEqual([]);
  });

  test('a webhook to a host is refused if one of the addresses of the host is private', async () => {
    const { resolve } = answerInTurn(['8.8.8.8', '10.0.0.1']);
    expect(await send('https://hook.example/', { allowsPrivate: false, resolve })).toEqual(REFUSED);
  });

  test('a webhook request connects to the checked address, even if the host name resolves to a private address afterwards', async () => {
    const { port, received } = await openReceiver();
    // The first answer is allowed, all later ones are not.
    const { asked, resolve } = answerInTurn(['127.0.0.1'], ['127.0.0.2']);
    const isAllowed = (address: string): boolean => address === '127.0.0.1';
    const url = `http://hook.example:${port}/`;
    expect(await send(url, { resolve, isAllowed })).toEqual({ status: 'delivered' });
    expect(asked).toEqual(['hook.example']);
    expect(received[0]?.headers.host).toBe(`hook.example:${port}`);
    expect(await send(url, { resolve, isAllowed })).toEqual(REFUSED);
    expect(received).toHaveLength(1);
  });
});

describe('requests of webhooks', () => {
  test('a webhook request treats a redirect as a failure, and does not follow it', async () => {
    const target = await openReceiver();
    const { url } = await openReceiver((response) => void response.writeHead(302, { location: target.url }).end());
    expect(await send(url)).toEqual({ status: 'failed', why: 'status 302', isFinal: false });
    expect(target.received).toEqual([]);
  });

  test.each([
    [500, false],
    [429, false],
    [410, true],
  ])(
    'a webhook answer with status %i is a failure, final: %s, and its text is not reported',
    async (status, isFinal) => {
      const { url } = await openReceiver((response) => void response.writeHead(status).end('secret of the network'));
      expect(await send(url)).toEqual({ status: 'failed', why: `status ${status}`, isFinal });
    },
  );

  test('an endless response to a webhook is cut off, and its status counts', async () => {
    const { url } = await openReceiver((response) => {
      response.writeHead(200);
      const write = (): void => {
        if (!response.destroyed) response.write('x'.repeat(65_536), () => setImmediate(write));
      };
      write();
    });
    expect(await send(url)).toEqual({ status: 'delivered' });
  });

  test('a refused connection of a webhook is a failure with its error code', async () => {
    const { port } = await openReceiver();
    expect(await send(`http://127.0.0.2:${port}/`)).toMatchObject({ why: 'ECONNREFUSED' });
  });

  test('an aborted webhook request ends as a failure', async () => {
    const { url, received } = await openReceiver(() => undefined);
    const sender = createWebhookSender({ allowsPrivate: true });
    onTestFinished(() => sender.close());
    const stopping = new AbortController();
    const sent = sender.send({ url, headers: {}, body: '{}', signal: stopping.signal });
    await expect.poll(() => received.length).toBe(1);
    stopping.abort();
    expect(await sent).toMatchObject({ status: 'failed' });
  });

  test('a webhook is sent, although the HTTP client could not be loaded for an earlier webhook', async () => {
    const { url } = await openReceiver();
    const sender = createWebhookSender({ allowsPrivate: true });
    const webhook = { url, headers: {}, body: '{}', signal: new AbortController().signal };
    vi.doMock('undici', () => {
      throw new Error('too many open files');
    });
    expect(await sender.send(webhook)).toMatchObject({ status: 'failed' });
    await sender.close();
    vi.doUnmock('undici');
    expect(await sender.send(webhook)).toEqual({ status: 'delivered' });
    await sender.close();
  });
});

import { HttpAgent } from '@ag-ui/client';
import { OpenAI } from 'openai';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { authenticateByKey } from '../../src/api/http/caller.ts';
import { createProtocols } from '../../src/api/http/protocols.ts';
import type { Scope } from '../../src/domain/access-key.ts';
import { fetchWithKey, openPage } from './chat-page.ts';
import { type HttpFixture, openHttpFixture } from './fixture.ts';

const BODY_BYTES = 2_000;

let http: HttpFixture;
let roomy: string;
let full: string;
beforeAll(async () => {
  http = await openHttpFixture();
  const { client } = http;
  const protocols = createProtocols({ client, agent: 'talker' });
  const options = { authenticate: authenticateByKey(client.keys), protocols };
  ({ url: roomy } = await http.serve({ ...options, limits: { maxBodyBytes: BODY_BYTES } }));
  ({ url: full } = await http.serve({ ...options, limits: { maxReaders: 0 } }));
});
afterAll(() => http.close());

interface Refusal {
  readonly status: number;
  readonly code: string;
  /** Rights of the key. Absent: the request has no key. */
  readonly scopes?: Scope[];
  readonly text: string;
}

const refusals: Refusal[] = [
  { status: 401, code: 'unauthorized', text: 'hello' },
  { status: 403, code: 'forbidden', scopes: ['read'], text: 'hello' },
  { status: 413, code: 'body_too_large', scopes: ['admin'], text: 'x'.repeat(BODY_BYTES) },
  { status: 422, code: 'invalid_input', scopes: ['admin'], text: '' },
  { status: 429, code: 'too_many_readers', scopes: ['admin'], text: 'hello' },
];

function urlFor({ status }: Refusal): string {
  return status === 429 ? full : roomy;
}

async function keyFor({ scopes }: Refusal): Promise<string> {
  if (scopes === undefined) return 'none';
  return (await http.client.keys.create({ tenant: '_', scopes })).token;
}

test.for(refusals)(
  'the OpenAI SDK throws its error for status $status, with the code of the refusal',
  async (refusal) => {
    const { status, code, text: input } = refusal;
    const openai = new OpenAI({ baseURL: `${urlFor(refusal)}/v1`, apiKey: await keyFor(refusal), maxRetries: 0 });
    await expect(openai.responses.create({ input, stream: true })).rejects.toMatchObject({
      status,
      code,
      type: status === 429 ? 'too_many_requests' : 'invalid_request',
      error: { message: expect.any(String) },
    });
  },
);

/** Statuses and types of errors under the base path of OpenAI, where they differ from those of the problem. */
const OF_OPENAI: Readonly<Record<number, { readonly status?: number; readonly type: string }>> = {
  401: { type: 'authentication_error' },
  403: { type: 'permission_error' },
  413: { type: 'invalid_request_error' },
  422: { status: 400, type: 'invalid_request_error' },
  429: { type: 'rate_limit_error' },
};

test.for(refusals)(
  'under the base path of OpenAI, the OpenAI SDK throws the error of OpenAI for status $status',
  async (refusal) => {
    const { status, code, text } = refusal;
    const baseURL = `${urlFor(refusal)}/openai/v1`;
    const openai = new OpenAI({ baseURL, apiKey: await keyFor(refusal), maxRetries: 0 });
    const expected = { status, code, ...OF_OPENAI[status] };
    await expect(openai.responses.create({ input: text })).rejects.toMatchObject(expected);
    await expect(openai.responses.create({ input: text, stream: true })).rejects.toMatchObject(expected);
    const messages = text === '' ? [] : [{ role: 'user' as const, content: text }];
    const chat = { model: 'talker', messages };
    await expect(openai.chat.completions.create(chat)).rejects.toMatchObject(expected);
    await expect(openai.chat.completions.create({ ...chat, stream: true })).rejects.toMatchObject(expected);
  },
);

test.for(refusals)(
  'a page with the AI SDK gets the problem of a refusal with status $status as its error',
  async (refusal) => {
    const { status, code, text } = refusal;
    const fetch = fetchWithKey(await keyFor(refusal));
    const { chat, errors } = openPage({ sdk: 7, url: urlFor(refusal), id: `chat-${status}`, fetch });
    await chat.sendMessage({ text });
    expect(chat.status).toBe('error');
    expect(errors.map(({ message }) => JSON.parse(message) as unknown)).toMatchObject([
      { status, code, detail: expect.any(String) },
    ]);
  },
);

test.for(refusals)('an AG-UI agent fails with status $status and the problem of the refusal', async (refusal) => {
  const { status, code, text: content } = refusal;
  const agent = new HttpAgent({
    url: `${urlFor(refusal)}/v1/ag-ui`,
    threadId: `thread-${status}`,
    headers: { authorization: `Bearer ${await keyFor(refusal)}` },
    initialMessages: [{ id: 'm1', role: 'user', content }],
  });
  // The package prints what it throws.
  vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const failures: unknown[] = [];
  const run = agent.runAgent({}, { onRunFailed: ({ error }) => void failures.push(error) });
  await expect(run).rejects.toMatchObject({ status, payload: expect.stringContaining(`"code":"${code}"`) });
  expect(failures).toMatchObject([{ status }]);
});

test('the refused requests of every protocol create no conversation', async () => {
  expect(await http.client.conversations({})).toEqual({ conversations: [] });
});

import { describe, expect, it } from 'vitest';
import { ASKINGS, connectAnthropic, connectOpenAi, FORMATS, postRaw } from './clients.ts';
import { type Provider, startProvider } from './provider.ts';

const question = { role: 'user', content: 'Look.' } as const;
const params = { model: 'claude-opus-5-5', max_tokens: 100, messages: [question] };

describe('the script', () => {
  it('the test server answers in the order of its script, or by a function of the request', async () => {
    const answers = [{ text: 'one' }, ({ body }: { body: object }) => ({ text: Object.keys(body).join(' ') })];
    await using provider = await startProvider({ answers });
    provider.respond({ text: 'three' });
    const { messages } = connectAnthropic(provider);
    const said = [await messages.create(params), await messages.create(params), await messages.create(params)];
    expect(said.map(({ content }) => content)).toMatchObject([
      [{ text: 'one' }],
      [{ text: 'model max_tokens messages' }],
      [{ text: 'three' }],
    ]);
  });

  it('the test server keeps the next scripted answer when it refuses a request', async () => {
    await using provider = await startProvider({ answers: [{ text: 'one' }] });
    const { messages } = connectAnthropic(provider);
    await expect(messages.create({ ...params, messages: [] })).rejects.toThrow('at least one message');
    await expect(messages.create(params)).resolves.toBeDefined();
  });

  it('the test server fails a test that makes more or fewer requests than the script has answers', async () => {
    const empty = await startProvider();
    await expect(connectAnthropic(empty).messages.create(params)).rejects.toMatchObject({ status: 500 });
    await expect(empty[Symbol.asyncDispose]()).rejects.toThrow('no answer is left for a request to /v1/messages');
    const full = await startProvider({ answers: [{ text: 'one' }] });
    await expect(full[Symbol.asyncDispose]()).rejects.toThrow('1 scripted answers were not asked for');
  });

  it('the test server fails a test that ends while a request is open', async () => {
    const arrived = Promise.withResolvers<void>();
    const answers = () => {
      arrived.resolve();
      return { fault: 'hang' } as const;
    };
    const provider = await startProvider({ answers });
    const asked = ASKINGS.anthropic(provider, true).catch((error: unknown) => error);
    await arrived.promise;
    await expect(provider[Symbol.asyncDispose]()).rejects.toThrow('a request to /v1/messages was left open');
    expect(await asked).toBeInstanceOf(Error);
  });

  it('the test server fails a test that requests an unknown path', async () => {
    const provider = await startProvider();
    await expect(connectOpenAi(provider).models.list()).rejects.toMatchObject({ status: 500 });
    await expect(provider[Symbol.asyncDispose]()).rejects.toThrow('no such path: GET /v1/models');
  });
});

describe('keys', () => {
  it.each(FORMATS)('the %s test server does not record API keys', async (format) => {
    await using provider = await startProvider({ answers: [{ text: 'Yes.' }] });
    await ASKINGS[format](provider, false);
    const [request] = provider.requests;
    expect(request?.headers['content-type']).toBe('application/json');
    expect(JSON.stringify(request)).not.toContain('sk-test');
  });

  it.each([
    ['anthropic', 'x-api-key header is required', 'invalid x-api-key'],
    ['openai-chat', "You didn't provide an API key.", 'Incorrect API key provided'],
    ['openai-responses', "You didn't provide an API key.", 'Incorrect API key provided'],
  ] as const)('the %s test server requires the right API key', async (format, missing, wrong) => {
    await using provider = await startProvider({ apiKey: 'sk-right', strict: false });
    const none = await postRaw(provider, format, params, { 'x-api-key': '', authorization: '' });
    expect(none).toMatchObject({ status: 401, text: expect.stringContaining(missing) });
    const other = await postRaw(provider, format, params);
    expect(other).toMatchObject({ status: 401, text: expect.stringContaining(wrong) });
  });
});

it('the test server serves several requests at once', async () => {
  const waiting: (() => void)[] = [];
  const answers = async () => {
    await new Promise<void>((resolve) => {
      if (waiting.push(resolve) === 3) for (const go of waiting) go();
    });
    return { text: 'Yes.' };
  };
  await using provider: Provider = await startProvider({ answers });
  await expect(Promise.all(FORMATS.map((format) => ASKINGS[format](provider, true)))).resolves.toHaveLength(3);
});

import { afterEach, expect, it, vi } from 'vitest';
import { anthropicModel } from '../../src/providers/anthropic/anthropic-model.ts';
import * as anthropic from '../../src/providers/anthropic/client.ts';
import { chatModel } from '../../src/providers/openai/chat-model.ts';
import * as openAi from '../../src/providers/openai/client.ts';
import { responsesModel } from '../../src/providers/openai/responses-model.ts';
import { errorOf } from '../domain/error-of.ts';
import { ask, connect, PROFILE } from './fixture.ts';
import { failureOf, serveRaw } from './raw-server.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

it('the provider clients ignore base URLs in environment variables', () => {
  for (const name of ['ANTHROPIC_BASE_URL', 'OPENAI_BASE_URL']) vi.stubEnv(name, 'http://127.0.0.1:9');
  const { client } = anthropic.openAnthropic({ apiKey: 'k' });
  expect(client.baseURL).toBe('https://api.anthropic.com');
  expect(openAi.openOpenAi({ apiKey: 'k' }).client.baseURL).toBe('https://api.openai.com/v1');
});

it.each(['anthropic', 'openai-chat', 'openai-responses'] as const)(
  'a %s request has the API key that was passed, not one from an environment variable',
  async (format) => {
    for (const name of ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'OPENAI_API_KEY', 'OPENAI_ADMIN_KEY'])
      vi.stubEnv(name, 'of-somebody-else');
    await using server = await serveRaw({ status: 500, body: {} });
    await failureOf(connect(format, server).generate(ask([{ role: 'user', content: 'Hi' }])));
    const sent = JSON.stringify(server.requests[0]?.headers);
    expect(sent).toContain('sk-test-0000');
    expect(sent).not.toContain('of-somebody-else');
  },
);

it.each(['anthropic', 'openai-chat', 'openai-responses'] as const)(
  'a %s request fails with a `retry` error if no server listens at the address',
  async (format) => {
    const server = await serveRaw({ body: {} });
    await server[Symbol.asyncDispose]();
    const error = await failureOf(connect(format, server).generate(ask([{ role: 'user', content: 'Hi' }])));
    expect(error).toMatchObject({ kind: 'retry', message: 'the answer did not arrive completely' });
  },
);

const foreign = {
  OPENAI_ORG_ID: 'of-somebody-else',
  OPENAI_PROJECT_ID: 'of-somebody-else',
  OPENAI_CUSTOM_HEADERS: 'x-foreign: of-somebody-else\nauthorization: Bearer of-somebody-else',
  OPENAI_LOG: 'debug',
  ANTHROPIC_CUSTOM_HEADERS: 'x-foreign: of-somebody-else\nx-api-key: of-somebody-else',
  ANTHROPIC_LOG: 'debug',
};

it.each(['anthropic', 'openai-chat', 'openai-responses'] as const)(
  'a %s request has the same headers with and without the SDK’s environment variables',
  async (format) => {
    await using server = await serveRaw({ status: 500, body: {} });
    const send = () => failureOf(connect(format, server).generate(ask([{ role: 'user', content: 'Hi' }])));
    await send();
    for (const [name, value] of Object.entries(foreign)) vi.stubEnv(name, value);
    await send();
    const [without, within] = server.requests.map(({ headers }) => headers);
    expect(within).toStrictEqual(without);
    expect(JSON.stringify(within)).not.toMatch(/somebody-else|organization|project/i);
  },
);

it.each(['anthropic', 'openai-chat', 'openai-responses'] as const)(
  'two %s requests have the same idempotency key only if their step and body are equal',
  async (format) => {
    await using server = await serveRaw({ status: 500, body: {} });
    const model = connect(format, server);
    const user = { role: 'user', content: 'Hi' } as const;
    const step = { idempotencyKey: 'разговор/t1/model-1' };
    await failureOf(model.generate(ask([user], step)));
    await failureOf(model.generate(ask([user], step)));
    await failureOf(model.generate(ask([{ ...user, content: 'Hi, after a pass' }], step)));
    await failureOf(model.generate(ask([user], { idempotencyKey: 'talk/t1/model-2' })));
    const keys = server.requests.map(({ headers }) => headers['idempotency-key']);
    expect(keys[0]).toMatch(/^[0-9a-f]{64}$/);
    expect(keys[1]).toBe(keys[0]);
    expect(new Set(keys).size).toBe(3);
  },
);

it.each([
  ['anthropic', anthropicModel],
  ['openai-chat', chatModel],
  ['openai-responses', responsesModel],
] as const)('a model of %s without an API key is refused when it is created', (_, create) => {
  // JavaScript callers may pass what a variable of the environment gave them.
  for (const apiKey of ['', undefined as never, null as never])
    expect(errorOf(() => create({ profile: PROFILE, apiKey }))).toMatchObject({
      code: 'invalid_config',
      message: 'apiKey: expected an API key. For a server without keys, pass any text',
    });
});

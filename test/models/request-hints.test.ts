import { expect, it } from 'vitest';
import { chatModel } from '../../src/providers/openai/chat-model.ts';
import { knowsHints } from '../../src/providers/openai/parameters.ts';
import { responsesModel } from '../../src/providers/openai/responses-model.ts';
import { startProvider } from '../provider/provider.ts';
import { ask, KEY, PROFILE } from './fixture.ts';

const HINTS = { cache: { key: 'c0ffee', ttl: '5m' }, safetyIdentifier: 'ab12' } as const;

it.each([
  ['chat', chatModel],
  ['responses', responsesModel],
])(
  'a request of a %s model contains OpenAI’s cache key of the conversation and id of the user, if hints are switched on',
  async (_, create) => {
    await using provider = await startProvider({ answers: [{ text: 'Hi' }, { text: 'Hi' }] });
    const connection = { profile: PROFILE, apiKey: KEY, baseUrl: `${provider.url}/v1` };
    const request = ask([{ role: 'user', content: 'Hi' }], HINTS);
    await create({ ...connection, hasRequestHints: true }).generate(request);
    await create(connection).generate(request);
    const [hinted, plain] = provider.requests;
    expect(hinted?.body).toMatchObject({ prompt_cache_key: 'c0ffee', safety_identifier: 'ab12' });
    expect(plain?.body).not.toHaveProperty('prompt_cache_key');
    expect(plain?.body).not.toHaveProperty('safety_identifier');
  },
);

it('requests contain cache and user hints by default only for addresses of OpenAI', () => {
  expect([undefined, 'https://api.openai.com/v1', 'https://x.openai.azure.com/openai/v1'].map(knowsHints)).toEqual([
    true,
    true,
    true,
  ]);
  expect(['http://127.0.0.1:8000/v1', 'https://openrouter.ai/api/v1', 'not an address'].map(knowsHints)).toEqual([
    false,
    false,
    false,
  ]);
});

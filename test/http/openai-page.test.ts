/** Runs the programs of the page about clients of OpenAI. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { scriptedModel } from '../../src/providers/scripted.ts';
import { createSupport, type OpenAiFixture, openOpenAiFixture } from './openai-fixture.ts';

const root = new URL('../../', import.meta.url);
const ADDRESS = 'http://127.0.0.1:3000/openai/v1';

let fixture: OpenAiFixture;
let page: string;
beforeAll(async () => {
  page = await readFile(new URL('docs/how-to/use-openai-clients.md', root), 'utf8');
  const model = scriptedModel({
    decide: ({ messages, tools }) => {
      const last = messages.at(-1);
      if (last?.role === 'tool') return { content: `It is so. ${last.content}` };
      const isAsked = last?.content.startsWith('How warm') === true && tools.some(({ name }) => name === 'weather_of');
      if (isAsked) return { toolCalls: [{ name: 'weather_of', arguments: { city: 'Bern' } }] };
      return { content: `answer ${messages.filter(({ role }) => role === 'user').length}` };
    },
  });
  fixture = await openOpenAiFixture([createSupport('support', { model })]);
});
afterAll(() => fixture.http.close());

const blocksOf = (language: string): string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'gms'))].map(([, code = '']) => code);

async function run(code: string): Promise<string[]> {
  const program = code.replaceAll(ADDRESS, fixture.baseUrl);
  const options = { cwd: fileURLToPath(new URL('test', root)) };
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], options);
  return stdout.trim().split('\n');
}

test('the program with the SDK of OpenAI continues its first response', async () => {
  const [sdk = ''] = blocksOf('js');
  expect(await run(sdk)).toEqual(['answer 1', 'answer 2']);
});

test('the program that sends a key with its requests gets one response', async () => {
  const [, keyed = ''] = blocksOf('js');
  expect(await run(keyed)).toEqual(['true']);
});

test('the program with the Agents SDK runs its own tool', async () => {
  const [, , agents = ''] = blocksOf('js');
  expect(await run(agents)).toEqual(['It is so. Bern: 21 degrees']);
});

test('Open WebUI finds the agents and has one conversation for each of its chats', async () => {
  const settings = blocksOf('sh').at(-1) ?? '';
  const base = /^OPENAI_API_BASE_URL=(.*)$/m.exec(settings)?.[1]?.replace(ADDRESS, fixture.baseUrl);
  const models = (await (await fetch(`${base}/models`)).json()) as { data: { id: string }[] };
  expect(models.data.map(({ id }) => id)).toEqual(['support']);
  const ask = async (chat: string) => {
    const response = await fetch(`${base}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'X-OpenWebUI-Chat-Id': chat, 'X-OpenWebUI-User-Id': 'u1' },
      body: JSON.stringify({ model: 'support', stream: false, messages: [{ role: 'user', content: 'hello' }] }),
    });
    return ((await response.json()) as { id: string }).id.split('~')[0];
  };
  expect(await ask('one')).not.toBe(await ask('two'));
});

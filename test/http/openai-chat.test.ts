import type { OpenAI } from 'openai';
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { gates, type OpenAiFixture, openOpenAiFixture } from './openai-fixture.ts';

let fixture: OpenAiFixture;
let openai: OpenAI;
let count = 0;
beforeAll(async () => {
  fixture = await openOpenAiFixture();
  ({ openai } = fixture);
});
afterAll(() => fixture.http.close());

const user = (content: string) => ({ role: 'user', content }) as const;
const assistant = (content: string | null | undefined) => ({ role: 'assistant', content: content ?? '' }) as const;
/** Each test has a person of its own, so that no test finds the chat of another one. */
const newUser = () => `u${(count += 1)}`;

async function ask(messages: readonly ChatCompletionMessageParam[], more: object = {}) {
  const body = { model: 'support', messages: [...messages], ...more };
  const completion = await openai.chat.completions.create(body);
  return { id: completion.id, text: completion.choices[0]?.message.content, completion };
}

const conversationOf = (id: string) => /^chatcmpl-(.+?)~/.exec(id)?.[1] ?? '';

test('a chat that a client sends whole goes on in one conversation', async () => {
  const person = { user: newUser() };
  const first = await ask([user('hello')], person);
  expect(first.completion).toMatchObject({ object: 'chat.completion', model: 'support' });
  expect(first.completion.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'heard hello' } });
  expect(first.completion.usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 });
  const messages = [user('hello'), assistant(first.text), user('history')];
  const second = await ask(messages, person);
  expect(second.text).toBe('user: hello / assistant: heard hello / user: history');
  const third = await ask([...messages, assistant(second.text), user('more')], person);
  expect(third.text).toBe('heard more');
  expect(new Set([first, second, third].map(({ id }) => conversationOf(id))).size).toBe(1);
  expect((await fixture.http.client.log(conversationOf(third.id))).length).toBe(6);
});

test('an edited chat is answered from the edited messages, and a later request finds its branch', async () => {
  const person = { user: newUser() };
  const first = await ask([user('hello')], person);
  const before = [user('hello'), assistant(first.text)];
  const told = await ask([...before, user('one')], person);
  const edited = await ask([...before, user('history')], person);
  expect(edited.text).toBe('user: hello / assistant: heard hello / user: history');
  const branch = [...before, user('history'), assistant(edited.text), user('history')];
  const further = await ask(branch, person);
  expect(further.text).toContain('user: history / assistant: user: hello');
  expect(conversationOf(further.id)).toBe(conversationOf(edited.id));
  const old = await ask([...before, user('one'), assistant(told.text), user('history')], person);
  expect(old.text).toBe('user: hello / assistant: heard hello / user: one / assistant: heard one / user: history');
  expect(conversationOf(old.id)).toBe(conversationOf(first.id));
  const rewritten = await ask([user('hello'), assistant('I never said that'), user('history')], person);
  expect(rewritten.text).toBe('user: hello / assistant: I never said that / user: history');
});

test('the same chat sent once more is a new answer, and a repeated request is the same answer', async () => {
  const person = { user: newUser() };
  const first = await ask([user('hello')], person);
  const again = await ask([user('hello')], person);
  expect(conversationOf(again.id)).not.toBe(conversationOf(first.id));
  const body = { model: 'support', messages: [user('hello')], ...person };
  const repeated = await openai.chat.completions.create(body, { headers: { 'x-stainless-retry-count': '1' } });
  expect(repeated.id).toBe(again.id);
  const key = { headers: { 'idempotency-key': `chat-${newUser()}` } };
  const keyed = await openai.chat.completions.create(body, key);
  expect((await openai.chat.completions.create(body, key)).id).toBe(keyed.id);
});

test('two persons who begin alike have two conversations', async () => {
  const ids = await Promise.all(
    [newUser(), newUser()].map(async (name) => (await ask([user('hello')], { user: name })).id),
  );
  expect(new Set(ids.map(conversationOf)).size).toBe(2);
  const chatIds = await Promise.all(
    ['c1', 'c2'].map(async (id) => {
      const headers = { 'x-openwebui-chat-id': id };
      const body = { model: 'support', messages: [user('hello')] };
      return (await openai.chat.completions.create(body, { headers })).id;
    }),
  );
  expect(new Set(chatIds.map(conversationOf)).size).toBe(2);
});

test('requests for one chat at the same time are answered from what each of them sent', async () => {
  const person = { user: newUser() };
  const first = await ask([user('hello')], person);
  const before = [user('hello'), assistant(first.text)];
  const texts = ['history', 'history', 'one', 'two', 'history'];
  const answers = await Promise.all(texts.map((text) => ask([...before, user(text)], person)));
  for (const [index, { text }] of answers.entries()) {
    const asked = texts[index] ?? '';
    const told = 'user: hello / assistant: heard hello / user: history';
    expect(text).toBe(asked === 'history' ? told : `heard ${asked}`);
  }
});

test('a chat streams its text, its reasoning and its usage', async () => {
  const name = newUser();
  gates.set(name, Promise.withResolvers<void>());
  const stream = await openai.chat.completions.create({
    model: 'support',
    messages: [user(`hold ${name}`)],
    stream: true,
    stream_options: { include_usage: true },
  });
  const texts: string[] = [];
  let usage: unknown;
  let end: unknown;
  for await (const chunk of stream) {
    const [choice] = chunk.choices;
    if (choice?.delta.content) texts.push(choice.delta.content);
    if (texts.length === 1) gates.get(name)?.resolve();
    end = choice?.finish_reason ?? end;
    usage = chunk.usage ?? usage;
  }
  expect([texts, end]).toEqual([['One ', 'two.'], 'stop']);
  expect(usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 5 });
});

test('a chat with a tool of the worker has one text, and goes on in its conversation', async () => {
  const person = { user: newUser() };
  const first = await ask([user('use find_order')], person);
  expect(first.text).toBe('One moment.\n\nResults: a blue jacket');
  const second = await ask([user('use find_order'), assistant(first.text), user('more')], person);
  expect(conversationOf(second.id)).toBe(conversationOf(first.id));
});

test('a function that a chat brings is called, and its result ends the turn that waits', async () => {
  const person = { user: newUser() };
  const parameters = { type: 'object', properties: { city: { type: 'string' } } };
  const tools = [{ type: 'function', function: { name: 'weather_of', description: 'Weather', parameters } }];
  const asked = await ask([user('use weather_of,weather_of')], { ...person, tools });
  const [choice] = asked.completion.choices;
  expect(choice?.finish_reason).toBe('tool_calls');
  const calls = choice?.message.tool_calls ?? [];
  expect(calls).toMatchObject([0, 1].map(() => ({ type: 'function', function: { name: 'weather_of' } })));
  const results = calls.map(
    ({ id }, index) => ({ role: 'tool', tool_call_id: id, content: `${index} degrees` }) as const,
  );
  const messages = [user('use weather_of,weather_of'), choice?.message, ...results] as ChatCompletionMessageParam[];
  const done = await ask(messages, { ...person, tools });
  expect(done.text).toBe('Results: 0 degrees | 1 degrees');
  expect(conversationOf(done.id)).toBe(conversationOf(asked.id));
  const further = await ask([...messages, assistant(done.text), user('more')], { ...person, tools });
  expect([further.text, conversationOf(further.id)]).toEqual(['heard more', conversationOf(asked.id)]);
});

test('system messages at the start of a chat are instructions of its turn', async () => {
  const person = { user: newUser() };
  const system = (content: string) => ({ role: 'system', content }) as const;
  const first = await ask([system('Speak French.'), user('system')], person);
  expect(first.text).toBe('You support.\n\nSpeak French.');
  const messages = [system('Speak German.'), user('system'), assistant(first.text), user('system')];
  const second = await ask(messages, person);
  expect(second.text).toBe('You support.\n\nSpeak German.');
  expect(conversationOf(second.id)).toBe(conversationOf(first.id));
});

test('a chat takes images and a form of its answer', async () => {
  const content = [
    { type: 'text', text: 'parts' },
    { type: 'image_url', image_url: { url: 'https://files.example/a.png' } },
  ] as const;
  const seen = await ask([{ role: 'user', content: [...content] }], { user: newUser() });
  expect(seen.text).toBe('parts text,image_url');
  const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
  const format = { response_format: { type: 'json_schema', json_schema: { name: 'city', schema } } };
  const formed = await ask([user('weather')], { user: newUser(), ...format });
  expect(JSON.parse(formed.text ?? '')).toMatchObject({ city: 'Bern' });
});

test('a failed answer is an error of OpenAI, which its SDK does not repeat', async () => {
  const failed = ask([user('fail')], { user: newUser() });
  await expect(failed).rejects.toMatchObject({ status: 500, code: 'model_failed' });
  const stream = await openai.chat.completions.create({ model: 'support', messages: [user('fail')], stream: true });
  const read = async () => {
    for await (const _ of stream);
  };
  await expect(read()).rejects.toMatchObject({ code: 'model_failed' });
});

test('a chat that is refused for a tool stores none of its messages', async () => {
  const before = await fixture.http.client.conversations();
  const tools = [{ type: 'function', function: { name: 'a b', parameters: {} } }];
  const refused = ask([user('hello'), assistant('hi'), user('more')], { user: newUser(), tools });
  await expect(refused).rejects.toMatchObject({ status: 400, param: 'tools[0].function.name' });
  expect(await fixture.http.client.conversations()).toEqual(before);
});

test.for([
  [{ n: 2 }, 'n'],
  [{ temperature: 0.5 }, 'temperature'],
  [{ stop: ['x'] }, 'stop'],
  [{ messages: [assistant('hello')] }, 'messages'],
  [{ model: 'gpt-5' }, 'model'],
] as const)('a chat with %j is refused by the name of the parameter', async ([fields, param]) => {
  await expect(ask([user('hello')], fields)).rejects.toMatchObject({ param });
});

import { afterAll, describe, expect, it } from 'vitest';
import type { Agent } from '../../src/domain/agent.ts';
import type { Message } from '../../src/domain/message.ts';
import { readRawItems, type WireFormat } from '../../src/domain/raw-items.ts';
import { connect, PROFILE } from '../models/fixture.ts';
import type { ScriptedAnswer } from '../provider/answer.ts';
import { type Provider, startProvider } from '../provider/provider.ts';
import { words } from './agents.ts';
import { eventsOf, openFixture, type RunningWorkers, settled } from './fixture.ts';

const fixture = await openFixture();

afterAll(() => fixture.close());

const FORMATS = ['anthropic', 'openai-responses'] as const;
const compacted: Readonly<Record<(typeof FORMATS)[number], ScriptedAnswer>> = {
  anthropic: { parts: [{ compaction: 'They looked for a word.' }] },
  'openai-responses': { text: '' },
};

async function startGuide(format: WireFormat, provider: Provider, model = `model-${format}`): Promise<RunningWorkers> {
  const agent: Agent = {
    name: 'guide',
    system: 'You guide.',
    tools: [],
    policy: { summarizer: 'native', retentionWindow: 2, tokenThreshold: 100_000, maxTokens: 2_000 },
    model: connect(format, provider, { profile: { ...PROFILE, id: model } }),
  };
  return await fixture.useWorkers(agent);
}

/** Old talk that is mostly the model's, and a short end. */
async function appendTalk(conversation: string): Promise<Message[]> {
  const part: Message[] = [
    { role: 'user', content: 'Find the word.' },
    { role: 'assistant', content: `I will look. ${words(450)}` },
  ];
  const messages = [...part, ...part, ...part, ...part, ...part];
  await fixture.client.append({ conversation, agent: 'guide', messages });
  return messages;
}

async function compact(conversation: string, version: number): Promise<void> {
  await fixture.client.compact(conversation);
  await fixture.untilCompacted(conversation, version);
}

async function ask(conversation: string, turn: string): Promise<unknown> {
  await fixture.enqueue(conversation, turn, 'And now?');
  return await settled(fixture, conversation, turn);
}

async function readSummary(conversation: string): Promise<Message | undefined> {
  const { items } = await fixture.client.context(conversation);
  return items.find(({ message }) => message.role === 'summary')?.message;
}

describe.each(FORMATS)('over %s', (format) => {
  it("a provider's own summary begins every later request, is compacted again, and leaves the log unchanged", async () => {
    const answer = { text: 'Here.' };
    await using provider = await startProvider({ answers: [compacted[format], answer, compacted[format], answer] });
    const workers = await startGuide(format, provider);
    const conversation = `native-${format}`;
    const log = await appendTalk(conversation);
    await compact(conversation, 1);
    const first = await readSummary(conversation);
    expect(readRawItems(first ?? {})?.items.some(({ type }) => type === 'compaction')).toBe(true);
    expect(first?.content).toContain('<users>');
    expect(await ask(conversation, 't1')).toMatchObject({ state: 'completed', answer: { content: 'Here.' } });
    expect(JSON.stringify(provider.requests.at(-1)?.body)).toContain('"type":"compaction"');

    await fixture.client.append({ conversation, agent: 'guide', messages: log });
    await compact(conversation, 2);
    expect(JSON.stringify(provider.requests.at(-1)?.body)).toContain('"type":"compaction"');
    expect(await ask(conversation, 't2')).toMatchObject({ state: 'completed' });
    expect(eventsOf(workers, 'version_refused')).toEqual([]);
    const [, second] = await fixture.client.versions(conversation);
    expect(second).toMatchObject({ number: 2, strategy: 'summarize', model: `native model-${format}` });
    const kept = (await fixture.client.log(conversation)).map(({ message }) => message.content);
    expect(kept.filter((content) => content.startsWith('I will look.'))).toHaveLength(10);
  });

  it("a provider's own summary is sent to another model as plain text", async () => {
    await using provider = await startProvider({ answers: [compacted[format], { text: 'Here.' }] });
    await startGuide(format, provider);
    const conversation = `native-other-${format}`;
    await appendTalk(conversation);
    await compact(conversation, 1);
    await startGuide(format, provider, 'another');
    expect(await ask(conversation, 't1')).toMatchObject({ state: 'completed' });
    const body = JSON.stringify(provider.requests.at(-1)?.body);
    expect(body).not.toContain('"type":"compaction"');
    expect(body).toContain('<summary');
  });

  it("a structural summary is used if the provider's own compaction fails", async () => {
    await using provider = await startProvider({ answers: [{ fault: 'overflow' }] });
    await startGuide(format, provider);
    const conversation = `native-failing-${format}`;
    await appendTalk(conversation);
    await compact(conversation, 1);
    expect(await fixture.client.versions(conversation)).toMatchObject([{ strategy: 'summarize', model: 'structural' }]);
    expect(readRawItems((await readSummary(conversation)) ?? {})).toBeUndefined();
  });
});

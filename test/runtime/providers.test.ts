import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Agent } from '../../src/domain/agent.ts';
import { WIRE_FORMATS, type WireFormat } from '../../src/domain/raw-items.ts';
import { connect, PROFILE } from '../models/fixture.ts';
import type { Provider } from '../provider/provider.ts';
import { startProvider } from '../provider/provider.ts';
import { words } from './agents.ts';
import { eventsOf, type Fixture, openFixture, type RunningWorkers, settled } from './fixture.ts';

let fixture: Fixture;
let running: RunningWorkers | undefined;

beforeAll(async () => {
  fixture = await openFixture();
});
afterEach(async () => {
  await running?.close();
  running = undefined;
});
afterAll(() => fixture.close());

async function startGuide(format: WireFormat, provider: Provider): Promise<RunningWorkers> {
  const agent: Agent = {
    name: 'guide',
    system: 'You guide.',
    tools: [],
    policy: { retentionWindow: 2, tokenThreshold: 100_000, maxTokens: 2_000 },
    model: connect(format, provider, { profile: { ...PROFILE, id: `model-${format}` } }),
  };
  running = await fixture.startWorkers(agent);
  return running;
}

/** Four old sequences and a short end: about 3,700 tokens. */
async function appendSequences(conversation: string): Promise<void> {
  const asked = { role: 'user' as const, content: words(10) };
  const said = { role: 'assistant' as const, content: `I will look. ${words(450)}` };
  const part = [asked, said, said];
  const messages = [...part, ...part, ...part, ...part, asked, { ...said, content: 'done' }];
  await fixture.client.append({ conversation, agent: 'guide', messages });
}

function ask(conversation: string): Promise<unknown> {
  return fixture.client.enqueueTurn({ conversation, turn: 't1', agent: 'guide', input: 'And now?' });
}

describe.each(WIRE_FORMATS)('a turn over %s', (format) => {
  it('is answered after one pass if the provider finds it too long', async () => {
    await using provider = await startProvider({ answers: [{ fault: 'overflow' }, { text: 'Now it fits.' }] });
    const workers = await startGuide(format, provider);
    const conversation = `overflow-${format}`;
    await appendSequences(conversation);
    await ask(conversation);
    expect(await settled(fixture, conversation, 't1')).toMatchObject({
      state: 'completed',
      answer: { content: 'Now it fits.' },
    });
    const [version] = await fixture.client.versions(conversation);
    expect(version).toMatchObject({ number: 1, strategy: 'summarize', reasons: ['overflow'] });
    expect(provider.requests.map(({ body }) => JSON.stringify(body).length)).toSatisfy(
      ([first = 0, second = 0]: number[]) => second < first / 2,
    );
    expect(eventsOf(workers, 'turn_suspended').map((event) => event.for)).toEqual(['compaction']);
  });

  it('fails with the reason if it is too long a second time', async () => {
    await using provider = await startProvider({ answers: [{ fault: 'overflow' }, { fault: 'overflow' }] });
    await startGuide(format, provider);
    const conversation = `overflow-twice-${format}`;
    await appendSequences(conversation);
    await ask(conversation);
    expect(await settled(fixture, conversation, 't1')).toMatchObject({
      state: 'failed',
      failure: { code: 'budget_infeasible' },
    });
  });

  it('waits for the end of a rate limit, without a pass', async () => {
    await using provider = await startProvider({
      answers: [{ fault: 'too_large_for_rate', retryAfterMs: 300 }, { text: 'Later.' }],
    });
    const workers = await startGuide(format, provider);
    const conversation = `limit-${format}`;
    await appendSequences(conversation);
    await ask(conversation);
    expect(await settled(fixture, conversation, 't1')).toMatchObject({ state: 'completed' });
    expect(await fixture.client.versions(conversation)).toEqual([]);
    expect(eventsOf(workers, 'turn_suspended').map((event) => event.for)).toEqual(['retry']);
  });

  it('continues over the previous version if the provider refuses a committed one', async () => {
    await using provider = await startProvider({ answers: [{ fault: 'invalid' }, { text: 'Fine.' }] });
    const workers = await startGuide(format, provider);
    const conversation = `refused-${format}`;
    await appendSequences(conversation);
    await fixture.client.compact(conversation);
    await expect
      .poll(async () => (await fixture.client.versions(conversation)).length, { timeout: 60_000, interval: 20 })
      .toBe(1);
    await ask(conversation);
    expect(await settled(fixture, conversation, 't1')).toMatchObject({
      state: 'completed',
      answer: { content: 'Fine.' },
    });
    const [, second] = await fixture.client.versions(conversation);
    expect(second).toMatchObject({ number: 2, parent: 1, cause: 'rollback' });
    const [refused] = eventsOf(workers, 'version_refused');
    expect(refused).toMatchObject({ by: 'provider', version: 1 });
    expect(refused?.form).toContain('"role":"user"');
    expect(refused?.form).not.toContain('word');
  });
});

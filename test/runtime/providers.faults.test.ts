import { afterAll, describe, expect, it } from 'vitest';
import type { Agent } from '../../src/domain/agent.ts';
import { WIRE_FORMATS } from '../../src/domain/raw-items.ts';
import { AI_SDK_SUBJECTS } from '../models/ai-sdk/subjects.ts';
import { connect as connectOwn, PROFILE } from '../models/fixture.ts';
import type { ModelSubject } from '../models/model-contract.ts';
import type { Provider } from '../provider/provider.ts';
import { startProvider } from '../provider/provider.ts';
import { eventsOf, openFixture, type RunningWorkers, settled } from './fixture.ts';

const fixture = await openFixture();

afterAll(() => fixture.close());

type Connect = ModelSubject['connect'];

/** Our own models, and those of the AI SDK, by names that conversations can have. */
const WAYS: [string, Connect][] = [
  ...WIRE_FORMATS.map((format): [string, Connect] => [
    format,
    (provider, options) => connectOwn(format, provider, options),
  ]),
  ...AI_SDK_SUBJECTS.map(({ name, connect }): [string, Connect] => [name.replaceAll(' ', '-'), connect]),
];

async function startGuide(connect: Connect, provider: Provider): Promise<RunningWorkers> {
  const agent: Agent = {
    name: 'guide',
    system: 'You guide.',
    tools: [],
    policy: { retentionWindow: 2, tokenThreshold: 100_000, maxTokens: 2_000 },
    model: connect(provider, { profile: PROFILE }),
  };
  return await fixture.useWorkers(agent);
}

describe.each(WAYS)('over %s', (format, connect) => {
  it('a turn whose request the provider refuses as too long is answered after one compaction pass', async () => {
    await using provider = await startProvider({ answers: [{ fault: 'overflow' }, { text: 'Now it fits.' }] });
    const workers = await startGuide(connect, provider);
    const conversation = `overflow-${format}`;
    await fixture.appendSequences(conversation, { tokens: 450 });
    await fixture.enqueue(conversation, 't1', 'And now?');
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

  it('a turn whose request is still too long after a compaction pass fails as budget_infeasible', async () => {
    await using provider = await startProvider({ answers: [{ fault: 'overflow' }, { fault: 'overflow' }] });
    await startGuide(connect, provider);
    const conversation = `overflow-twice-${format}`;
    await fixture.appendSequences(conversation, { tokens: 450 });
    await fixture.enqueue(conversation, 't1', 'And now?');
    expect(await settled(fixture, conversation, 't1')).toMatchObject({
      state: 'failed',
      failure: { code: 'budget_infeasible' },
    });
  });

  it('a turn waits for the end of a rate limit, without a compaction pass', async () => {
    await using provider = await startProvider({
      answers: [{ fault: 'token_rate_limit', retryAfterMs: 300 }, { text: 'Later.' }],
    });
    const workers = await startGuide(connect, provider);
    const conversation = `limit-${format}`;
    await fixture.appendSequences(conversation, { tokens: 450 });
    await fixture.enqueue(conversation, 't1', 'And now?');
    expect(await settled(fixture, conversation, 't1')).toMatchObject({ state: 'completed' });
    expect(await fixture.client.versions(conversation)).toEqual([]);
    expect(eventsOf(workers, 'turn_suspended').map((event) => event.for)).toEqual(['retry']);
  });

  it('a turn continues with the previous version of the context if the provider refuses the current version', async () => {
    await using provider = await startProvider({ answers: [{ fault: 'invalid' }, { text: 'Fine.' }] });
    const workers = await startGuide(connect, provider);
    const conversation = `refused-${format}`;
    await fixture.appendSequences(conversation, { tokens: 450 });
    await fixture.client.compact(conversation);
    await fixture.untilCompacted(conversation);
    await fixture.enqueue(conversation, 't1', 'And now?');
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

import { afterAll, expect, it, onTestFinished } from 'vitest';
import type { PolicyInput } from '../../src/domain/policy.ts';
import { readSeries } from '../telemetry/exposition.ts';
import { agentOf, words } from './agents.ts';
import { eventsOf, eventually, openFixture, type RunningWorkers } from './fixture.ts';

const LIVE: PolicyInput = { tokenThreshold: 1_000, maxTokens: 800, retentionWindow: 2 };
/** would evict, and earlier */
const SHADOW: PolicyInput = { tokenThreshold: 600, maxTokens: 500, retentionWindow: 2, minSequenceTokens: 90_000 };

const fixture = await openFixture();

afterAll(() => fixture.close());

/** Lives through two passes over the same messages. */
async function compactTwice(conversation: string, shadow?: PolicyInput): Promise<RunningWorkers> {
  const agent = agentOf({ policy: LIVE });
  const workers = await fixture.startWorkers(agent, { metricsPort: 0, ...(shadow && { shadow }) });
  const asked = { role: 'user' as const, content: words(10) };
  const said = { role: 'assistant' as const, content: `I will look. ${words(300)}` };
  for (const passes of [1, 2]) {
    await fixture.client.append({
      conversation,
      agent: 'guide',
      messages: [asked, said, said, asked, said, said, asked, said],
    });
    await eventually(
      async () => ({
        state: await fixture.client.describe(conversation),
        ended: eventsOf(workers, 'pass_ended', conversation),
      }),
      ({ state, ended }) => {
        expect(ended.length).toBeGreaterThanOrEqual(passes);
        expect(state.passId).toBeUndefined();
        expect(state.size.version).toBe(passes);
      },
    );
  }
  return workers;
}

/** Data of a conversation, without times and operation ids. */
async function readRemains(conversation: string): Promise<string> {
  const versions = await fixture.client.versions(conversation);
  const contexts = await Promise.all(
    versions.map(({ number }) => fixture.client.context(conversation, { version: number })),
  );
  const keys = (await fixture.redis.keys('*')).filter((key) => key.includes(conversation) && !key.includes(':op:'));
  const named = keys.map((key) => key.replace(/\{.*?\}/, '').replace(conversation, '')).toSorted();
  return JSON.stringify({ versions, contexts, named }, (key, value: unknown) =>
    ['at', 'durationMs', 'conversation'].includes(key) ? undefined : value,
  );
}

it('a shadow policy is measured at every compaction pass, and does not change the result of the pass', async () => {
  const plain = await compactTwice('plain');
  await plain.close();
  expect(eventsOf(plain, 'pass_shadowed')).toEqual([]);

  const shadowed = await compactTwice('shadowed', SHADOW);
  const measured = await eventually(
    () => eventsOf(shadowed, 'pass_shadowed'),
    (events) => expect(events.length).toBe(eventsOf(shadowed, 'pass_ended').length),
  );
  expect(await readRemains('shadowed')).toBe(await readRemains('plain'));
  expect(eventsOf(shadowed, 'worker_failed')).toEqual([]);
  expect(measured[0]).toMatchObject({
    live: { outcome: 'committed', strategy: 'summarize' },
    shadow: { outcome: 'committed', strategy: 'evict', summaries: 0 },
  });

  const page = await fetch(shadowed.metricsUrl ?? '');
  const series = readSeries(await page.text());
  for (const policy of ['live', 'shadow']) {
    const passes = [...series].filter(
      ([name]) => name.startsWith('turnfold_shadow_passes_total') && name.includes(`policy="${policy}"`),
    );
    expect(passes.reduce((sum, [, value]) => sum + value, 0)).toBe(measured.length);
    expect(series.get(`turnfold_shadow_after_tokens_sum{policy="${policy}"}`)).toBeGreaterThan(0);
  }
});

it('a turn that runs its own compaction pass is answered, and its worker measures no shadow policy', async () => {
  const agent = agentOf({ policy: LIVE, profile: { windowTokens: 3_500, outputCapTokens: 500 } });
  // No other worker is there.
  const alone = await openFixture();
  onTestFinished(() => alone.close());
  const workers = await alone.startWorkers(agent, { roles: ['turn'], shadow: SHADOW });
  const messages = Array.from({ length: 5 }, () => [
    { role: 'user' as const, content: words(10) },
    { role: 'assistant' as const, content: words(600) },
  ]).flat();
  await alone.client.append({ conversation: 'alone', agent: 'guide', messages });
  await alone.client.enqueueTurn({ conversation: 'alone', agent: 'guide', turn: 't1', input: 'hello' });
  // No worker runs the pass, so the turn takes it over after 20 s.
  expect(await alone.client.result('alone', 't1', { waitMs: 45_000 })).toMatchObject({ state: 'completed' });
  expect(eventsOf(workers, 'pass_ended')).toMatchObject([{ outcome: 'committed' }]);
  expect(eventsOf(workers, 'worker_failed')).toEqual([]);
  expect(eventsOf(workers, 'pass_shadowed')).toEqual([]);
});

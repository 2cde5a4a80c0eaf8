import { afterAll, expect, it, onTestFinished } from 'vitest';
import type { Agent } from '../../src/domain/agent.ts';
import type { WorkerEvent } from '../../src/domain/events.ts';
import type { Message } from '../../src/domain/message.ts';
import type { ModelProfile } from '../../src/domain/model.ts';
import { summarizeJob } from '../../src/jobs/job.ts';
import { scriptedModel } from '../../src/providers/scripted.ts';
import { connect, PROFILE } from '../models/fixture.ts';
import { PLAN, prose, RECORD, say } from '../models/summarizer/fixture.ts';
import { type Provider, startProvider } from '../provider/provider.ts';
import { openFixture } from './fixture.ts';
import { openSummarizers } from './summarizer-fixture.ts';

const fixture = await openFixture();

afterAll(() => fixture.close());

interface CompactOptions {
  readonly provider: Provider;
  readonly conversation: string;
  /** the one sequence */
  readonly messages: readonly Message[];
  readonly profile?: Partial<ModelProfile>;
}

/** Runs one pass over one sequence with a provider's summarizer. Returns the author of the summary and the reported events. */
async function compact({ provider, conversation, messages, profile = {} }: CompactOptions) {
  const agent: Agent = {
    name: 'guide',
    system: 'You guide.',
    tools: [],
    policy: { mode: 'manual', retentionWindow: 2, maxTokens: 2_000, summarizer: { models: ['small'] } },
    model: scriptedModel({ profile: { windowTokens: 200_000 }, decide: () => ({}) }),
  };
  const events: WorkerEvent[] = [];
  const workers = await fixture.startWorkers(agent, { roles: ['compaction'] });
  onTestFinished(async () => void (await workers.close()));
  const summarizers = await openSummarizers(fixture, {
    agent,
    model: connect('openai-chat', provider, { profile: { ...PROFILE, id: 'small', ...profile } }),
    onEvent: (event) => events.push(event),
  });
  onTestFinished(() => summarizers.close());
  const user = { role: 'user' as const, content: 'Move the shop.' };
  await fixture.client.append({
    conversation,
    agent: 'guide',
    messages: [user, PLAN, ...messages, user, say('It is done.')],
  });
  await fixture.client.compact(conversation);
  await fixture.untilCompacted(conversation);
  const { summaries } = await summarizers.readContext(conversation);
  const outcomes = events.flatMap((event) => (event.type === 'model_called' ? [event.outcome] : []));
  return { by: [...summaries.values()].map(({ model }) => model), outcomes };
}

it('a summarization job waits for rate limits longer than its attempts would last', async () => {
  const limit = { fault: 'rate_limit', retryAfterMs: 1_000 } as const;
  const limits = Array.from({ length: summarizeJob.attempts }, () => limit);
  await using provider = await startProvider({ answers: [...limits, { text: RECORD }] });
  const { by, outcomes } = await compact({
    provider,
    conversation: 'limited',
    messages: [say(prose(600)), say(prose(200, 3))],
  });
  expect(outcomes).toEqual([...limits.map(() => 'retry'), 'answered']);
  expect(by).toEqual(['small']);
});

it('a summarization job uses the next summarizer if a rate limit ends too late for its pass', async () => {
  await using provider = await startProvider({ answers: [{ fault: 'rate_limit', retryAfterMs: 600_000 }] });
  const { by, outcomes } = await compact({
    provider,
    conversation: 'late',
    messages: [say(prose(600)), say(prose(200, 3))],
  });
  expect(outcomes).toEqual(['retry']);
  expect(by).toEqual(['structural']);
});

it('a retry of a summarization job calls the model only for the parts that failed before', async () => {
  let calls = 0;
  await using provider = await startProvider({
    answers: () => {
      calls += 1;
      return calls === 3 ? { fault: 'overloaded' } : { text: RECORD };
    },
  });
  const messages = Array.from({ length: 24 }, (_, at) => say(prose(400, at)));
  const profile = { windowTokens: 12_000, outputCapTokens: 2_000 };
  const { by } = await compact({ provider, conversation: 'parted', messages, profile });
  expect(by).toEqual(['small']);
  const sent = provider.requests.map(({ body }) => JSON.stringify(body));
  expect(sent.length).toBeGreaterThan(4);
  expect(sent[3], 'the one that failed').toBe(sent[2]);
  expect(new Set(sent).size).toBe(sent.length - 1);
});

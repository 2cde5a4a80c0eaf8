import { afterAll, describe, expect, it, vi } from 'vitest';
import { ModelError, type ModelRequest } from '../../src/domain/model.ts';
import type { PolicyModel } from '../../src/domain/policy.ts';
import { prepareAgents } from '../../src/host/agents.ts';
import { createSummarizers } from '../../src/host/summarizers.ts';
import { type ScriptedOutcome, scriptedModel } from '../../src/providers/scripted.ts';
import { agentOf, words } from './agents.ts';
import { eventsOf, openFixture, type RunningWorkers } from './fixture.ts';

const RECORD = '## State\nriver stone garden window market';
/** The record that code writes from it. */
const QUOTED = expect.stringMatching(/^## State\nagent \d: .*river stone garden window market/);

const fixture = await openFixture();

afterAll(() => fixture.close());

/** A pass over two sequences, whose summarizer is the agent's own model. */
async function compact(
  conversation: string,
  decide: (request: ModelRequest) => ScriptedOutcome,
): Promise<RunningWorkers> {
  const policy = { messageThreshold: 8, retentionWindow: 2, summarizer: { models: ['scripted'] } };
  const workers = await fixture.useWorkers(agentOf({ decide, policy }));
  const part = [
    { role: 'user' as const, content: words(10) },
    { role: 'assistant' as const, content: words(400) },
    { role: 'assistant' as const, content: words(400) },
  ];
  await fixture.client.append({ conversation, agent: 'guide', messages: [...part, ...part, ...part] });
  await fixture.untilCompacted(conversation);
  return workers;
}

async function readSummaries(conversation: string): Promise<string[]> {
  const { items } = await fixture.client.context(conversation);
  return items.filter(({ message }) => message.role === 'summary').map(({ message }) => message.content);
}

describe('summaries by a model', () => {
  it('summaries by a model replace the messages that they summarize, and each model call is reported', async () => {
    const running = await compact('s1', () => ({
      content: RECORD,
      usage: { inputTotal: 900, output: 20, outputKept: 0 },
    }));
    expect(await readSummaries('s1')).toEqual([QUOTED, QUOTED]);
    const counted = { purpose: 'summary', model: 'scripted', outcome: 'answered', inputTokens: 900, outputTokens: 20 };
    expect(eventsOf(running, 'model_called')).toMatchObject([counted, counted]);
  });

  it('a summarization job waits for the end of a rate limit', async () => {
    let limited = 2;
    const running = await compact('s2', () => {
      limited -= 1;
      return limited >= 0 ? new ModelError('retry', 'a rate limit') : { content: RECORD };
    });
    expect(await readSummaries('s2')).toEqual([QUOTED, QUOTED]);
    const outcomes = eventsOf(running, 'model_called').map(({ outcome }) => outcome);
    expect(outcomes.toSorted()).toEqual(['answered', 'answered', 'retry', 'retry']);
  });

  it('structural summaries replace bad answers of a model, and the log keeps all messages', async () => {
    const running = await compact('s3', () => ({ content: 'I cannot help with that.' }));
    expect(eventsOf(running, 'summary_ended').map(({ outcome }) => outcome)).toEqual(['written', 'written']);
    const summaries = await readSummaries('s3');
    expect(summaries).toHaveLength(2);
    expect(summaries.join()).not.toContain('cannot help');
    const log = await fixture.client.log('s3');
    expect(log.map(({ message }) => message.content)).toEqual(
      [1, 2, 3].flatMap(() => [words(10), words(400), words(400)]),
    );
  });
});

describe('the models that a policy names', () => {
  const open = async (names: readonly (string | PolicyModel)[]) => {
    const agent = agentOf({ policy: { summarizer: { models: [...names] } } });
    const { all } = await prepareAgents([agent], {}, () => 1);
    const other = scriptedModel({ profile: { id: 'other' }, decide: () => ({}) });
    const [prepared] = all;
    const summarizers = await createSummarizers(all, [other]);
    return prepared === undefined ? [] : summarizers(prepared.policy, prepared.agent.name).map(({ id }) => id);
  };

  it('the summarizer chain of a policy has its models in order, and the structural summarizer last', async () => {
    expect(await open(['other', 'scripted'])).toEqual(['other', 'scripted', 'structural']);
  });

  it('a policy gives a model options of its own, and names the variable of its key', async () => {
    vi.stubEnv('OWN_KEY', 'k');
    const model = { model: 'anthropic/claude-haiku-5-5', apiKeyVariable: 'OWN_KEY', effort: 'low' } as const;
    expect(await open([model])).toEqual(['claude-haiku-5-5', 'structural']);
    const refused = open([{ ...model, effort: 'none' }]);
    const field = 'agents.guide.policy.summarizer.models[0]';
    await expect(refused).rejects.toMatchObject({ code: 'invalid_policy', field });
    await expect(refused).rejects.toThrow('effort');
    vi.unstubAllEnvs();
    await expect(open([model])).rejects.toThrow('OWN_KEY');
  });

  it.each(['unknown', 'nobody/model', 'anthropic/claude-unheard-of'])(
    'startWorkers refuses a policy that names the unknown model %s',
    async (name) => {
      const field = 'agents.guide.policy.summarizer.models[1]';
      await expect(open(['other', name])).rejects.toMatchObject({ code: 'invalid_policy', field });
    },
  );
});

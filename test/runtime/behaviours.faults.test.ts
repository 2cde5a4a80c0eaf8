import { afterAll, expect, it } from 'vitest';
import { z } from 'zod';
import { type Agent, defineTool } from '../../src/domain/agent.ts';
import type { TurnView } from '../../src/domain/turn.ts';
import type { Behaviour } from '../behaviours/behaviour.ts';
import { BEHAVIOURS } from '../behaviours/table.ts';
import { connect, PROFILE } from '../models/fixture.ts';
import { type Provider, startProvider } from '../provider/provider.ts';
import type { Reply } from '../provider/script.ts';
import { openFixture, settled } from './fixture.ts';

/** The behaviours that did the most damage: lost answers, calls that never ran, and turns that waited in vain. */
const WORST = [
  'end-empty-reason-then-cut',
  'end-no-reason-but-done',
  'end-reason-error',
  'end-window-exceeded',
  'whole-answer-for-a-stream',
  'empty-stop',
  'empty-end-turn',
  'responses-empty-output-text',
  'responses-empty-output-call',
  'responses-empty-output-deltas',
  'call-no-id',
  'call-same-id-twice',
  'call-index-0',
  'call-object-arguments',
  'call-null-arguments',
  'anthropic-call-same-id',
  'responses-call-no-call-id',
  'overflow-ollama',
  'overflow-lm-studio-200',
  'overflow-sglang',
  'overflow-cloudflare',
  'overflow-openrouter-raw',
  'overflow-openrouter-200',
  'overflow-groq-tpm',
  'pictures-too-many',
  'spend-enforced',
  'organization-on-hold',
  'cmek-key-disabled',
  'no-tools-ollama',
  'unknown-field-mistral',
  'tool-use-failed',
];

const fixture = await openFixture();

afterAll(() => fixture.close());

const picture = { type: 'image_url', image_url: { url: 'https://x.test/a.png' } };

function guide({ format, profile, id }: Behaviour, provider: Provider): Agent {
  const found = async () => 'found';
  const input = z.looseObject({ path: z.string().optional() });
  return {
    name: 'guide',
    system: 'You guide.',
    tools: ['read', 'list'].map((name) => defineTool({ name, description: 'Reads.', input, run: found })),
    policy: { retentionWindow: 2, tokenThreshold: 100_000, maxTokens: 2_000 },
    model: connect(format, provider, { profile: { ...PROFILE, ...profile, id: `model-${id}` } }),
  };
}

/** Plays a behaviour to a turn over a compacted conversation that shows an old picture. */
async function playTurn(behaviour: Behaviour): Promise<{ readonly view: TurnView; readonly provider: Provider }> {
  const { id, replies } = behaviour;
  const answers: Reply[] = replies.map((answer) => ({ fault: 'raw', answer }));
  // The script goes on with this answer, after a compaction, a wait or a tool call.
  let asked = 0;
  const reply = (): Exclude<Reply, (...args: never) => unknown> => {
    const next = answers[asked] as Exclude<Reply, (...args: never) => unknown> | undefined;
    asked += 1;
    return next ?? { text: 'And more.' };
  };
  await using provider = await startProvider({ answers: reply, strict: false });
  await fixture.useWorkers(guide(behaviour, provider));
  await fixture.client.append({
    conversation: id,
    agent: 'guide',
    messages: [
      { role: 'user', content: 'Look.', parts: [picture] },
      { role: 'assistant', content: 'A house.' },
    ],
  });
  await fixture.appendSequences(id, { tokens: 450 });
  await fixture.client.compact(id);
  await fixture.untilCompacted(id);
  await fixture.enqueue(id, 't1', 'And now?');
  return { view: await settled(fixture, id, 't1'), provider };
}

const behaviours = new Map(BEHAVIOURS.flatMap((topic) => topic.behaviours).map((one) => [one.id, one]));

it.each(WORST)('a turn in a worker over Redis handles the provider behaviour %s', async (id) => {
  const behaviour = behaviours.get(id) as Behaviour;
  const effect = behaviour.steps?.[0]?.effect ?? {};
  const { view, provider } = await playTurn(behaviour);
  const versions = await fixture.client.versions(id);
  // No behaviour voids the version that the conversation already had.
  expect(versions.map(({ cause }) => cause)).not.toContain('rollback');
  const sent = provider.requests.map(({ body }) => JSON.stringify(body));
  if (!('error' in effect)) {
    const hasCalls = (effect.calls ?? []).length > 0;
    const content = hasCalls ? 'And more.' : effect.text;
    expect(view).toMatchObject({ state: 'completed', answer: { content } });
    if (hasCalls) expect(sent.at(-1)?.match(/found/g)).toHaveLength(effect.calls?.length ?? 0);
  } else if (effect.error === 'fatal') {
    const { code } = effect;
    expect(view).toMatchObject({
      state: 'failed',
      failure: { code: 'model_failed', ...(code !== undefined && { details: { code } }) },
    });
    expect(sent).toHaveLength(1);
  } else {
    expect(view).toMatchObject({ state: 'completed', answer: { content: 'And more.' } });
    expect(versions.some(({ reasons }) => reasons.includes('overflow'))).toBe(effect.error === 'overflow');
    if (effect.error === 'overflow') expect(sent.at(-1)).not.toContain('x.test/a.png');
  }
});

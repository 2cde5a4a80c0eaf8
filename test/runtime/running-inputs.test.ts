import { afterAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { InputPart } from '../../src/api/client/index.ts';
import { defineTool } from '../../src/domain/agent.ts';
import { ModelError, type ModelRequest } from '../../src/domain/model.ts';
import type { PolicyInput } from '../../src/domain/policy.ts';
import type { ScriptedOutcome } from '../../src/providers/scripted.ts';
import { agentOf, countSteps, words } from './agents.ts';
import { eventsOf, openFixture, type RunningWorkers, settled } from './fixture.ts';

const ROUNDS = 8;
/** A question of about a third of the budget, whose words are in no other message. */
const QUESTION = Array.from({ length: 400 }, (_, index) => `ask${index}`).join(' ');
const PICTURE: InputPart = {
  type: 'image',
  mediaType: 'image/png',
  data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
};

const fixture = await openFixture();

afterAll(() => fixture.close());

const read = defineTool({
  name: 'read',
  description: '',
  input: z.object({ page: z.number() }),
  run: async ({ page }) => `Page ${page}.${words(900)}`,
});
const pay = defineTool({
  name: 'pay',
  description: '',
  input: z.object({}),
  needsApproval: true,
  run: async () => `Paid.${words(1_500)}`,
});

/** The usable window is 5,500 tokens: a hard pass is due from 5,060, and compacts to 2,750. */
const profile = { windowTokens: 6_000, outputCapTokens: 500, abilities: { inputs: ['image'] } } as const;

interface Options {
  readonly policy?: PolicyInput;
  /** Round whose first request the provider refuses as too long. */
  readonly refusedRound?: number;
}

/** Workers whose model records its requests and calls the tool of `callOf` in each round. A round reads three pages. */
async function startWorkers(
  callOf: (round: number) => string,
  { policy = { thresholdRatio: 0.91 }, refusedRound }: Options = {},
): Promise<{ readonly workers: RunningWorkers; readonly requests: ModelRequest[] }> {
  const requests: ModelRequest[] = [];
  const decide = (request: ModelRequest): ScriptedOutcome => {
    const round = countSteps(request);
    const isRepeated = requests.some(({ idempotencyKey }) => idempotencyKey === request.idempotencyKey);
    requests.push(request);
    if (round === refusedRound && !isRepeated) return new ModelError('overflow', 'too long');
    if (round >= ROUNDS) return { content: 'done' };
    if (callOf(round) === 'pay') return { content: '', toolCalls: [{ name: 'pay', arguments: {} }] };
    const pages = [0, 1, 2].map((part) => 3 * round + part);
    return { content: `round ${round}`, toolCalls: pages.map((page) => ({ name: 'read', arguments: { page } })) };
  };
  const workers = await fixture.useWorkers(agentOf({ decide, tools: [read, pay], profile, policy }));
  return { workers, requests };
}

/** Old messages, which a pass can remove before the question. */
async function appendPast(conversation: string): Promise<void> {
  await fixture.appendSequences(conversation, { parts: 2, tokens: 400 });
}

function textsOf({ messages }: ModelRequest): string[] {
  return messages.filter(({ role }) => role === 'user').map(({ content }) => content);
}

async function countPasses(conversation: string): Promise<number> {
  return (await fixture.client.versions(conversation)).length;
}

describe('a turn that is compacted in its middle', () => {
  test('every model call of a turn sees the whole question when hard compaction passes run between the calls', async () => {
    const { requests } = await startWorkers(() => 'read');
    await appendPast('q-hard');
    await fixture.enqueue('q-hard', 't1', QUESTION);
    expect(await settled(fixture, 'q-hard', 't1')).toMatchObject({ state: 'completed' });
    expect(await countPasses('q-hard')).toBeGreaterThanOrEqual(3);
    expect(requests.map((request) => textsOf(request).includes(QUESTION))).toEqual(requests.map(() => true));
  });

  test('every model call of a turn sees the whole question when soft compaction passes run beside the turn', async () => {
    const { requests } = await startWorkers(() => 'read', { policy: { tokenThreshold: 3_500 } });
    await appendPast('q-soft');
    await fixture.enqueue('q-soft', 't1', QUESTION);
    expect(await settled(fixture, 'q-soft', 't1')).toMatchObject({ state: 'completed' });
    expect(await countPasses('q-soft')).toBeGreaterThanOrEqual(3);
    expect(requests.map((request) => textsOf(request).includes(QUESTION))).toEqual(requests.map(() => true));
  });

  test('every model call sees the text and the picture of the question after the provider refused a request as too long', async () => {
    const { requests } = await startWorkers(() => 'read', { refusedRound: 2 });
    await appendPast('q-picture');
    await fixture.client.enqueueTurn({
      conversation: 'q-picture',
      turn: 't1',
      agent: 'guide',
      input: QUESTION,
      parts: [PICTURE],
    });
    expect(await settled(fixture, 'q-picture', 't1')).toMatchObject({ state: 'completed' });
    expect(await countPasses('q-picture')).toBeGreaterThanOrEqual(3);
    for (const { messages } of requests)
      expect(messages.find(({ content }) => content === QUESTION)?.parts).toHaveLength(1);
  });

  test('every model call sees the question and each message that was steered into the turn', async () => {
    const steering = QUESTION.replaceAll('ask', 'also');
    let steered: Promise<unknown> | undefined;
    const { requests } = await startWorkers((round) => {
      if (round === 1) {
        steered = fixture.client.enqueueTurn({
          conversation: 'q-steer',
          turn: 's1',
          agent: 'guide',
          input: steering,
          onBusy: 'steer',
        });
      }
      return 'read';
    });
    await appendPast('q-steer');
    await fixture.enqueue('q-steer', 't1', QUESTION);
    expect(await settled(fixture, 'q-steer', 't1')).toMatchObject({ state: 'completed' });
    await steered;
    expect(await countPasses('q-steer')).toBeGreaterThanOrEqual(3);
    expect(requests.map((request) => textsOf(request).includes(QUESTION))).toEqual(requests.map(() => true));
    const first = requests.findIndex((request) => textsOf(request).includes(steering));
    expect(first).toBeGreaterThan(0);
    expect(requests.slice(first).every((request) => textsOf(request).includes(steering))).toBe(true);
  });

  test('the model call after an approval sees the whole question when a person compacted meanwhile', async () => {
    const { requests, workers } = await startWorkers((round) => (round === 4 ? 'pay' : 'read'));
    await appendPast('q-wait');
    await fixture.enqueue('q-wait', 't1', QUESTION);
    const waitsFor = async () => (await fixture.client.result('q-wait', 't1')).waiting?.for;
    await expect.poll(waitsFor, { timeout: 60_000 }).toBe('approval');
    const before = await countPasses('q-wait');
    await fixture.client.compact('q-wait');
    await fixture.untilCompacted('q-wait', before + 1);
    const { waiting } = await fixture.client.result('q-wait', 't1');
    const [call] = waiting?.calls ?? [];
    await fixture.client.answer('q-wait', 't1', { [call?.id ?? '']: { approved: true } });
    expect(await settled(fixture, 'q-wait', 't1')).toMatchObject({ state: 'completed' });
    expect(eventsOf(workers, 'turn_suspended').map((event) => event.for)).toContain('approval');
    expect(requests.map((request) => textsOf(request).includes(QUESTION))).toEqual(requests.map(() => true));
  });
});

test('the next turn sees the whole last question when a person compacted between the turns', async () => {
  const { requests } = await startWorkers(() => 'read');
  await fixture.enqueue('q-between', 't1', QUESTION);
  expect(await settled(fixture, 'q-between', 't1')).toMatchObject({ state: 'completed' });
  const before = await countPasses('q-between');
  await fixture.client.compact('q-between');
  await fixture.untilCompacted('q-between', before + 1);
  await fixture.enqueue('q-between', 't2', 'And now?');
  expect(await settled(fixture, 'q-between', 't2')).toMatchObject({ state: 'completed' });
  const [next] = requests.filter((request) => textsOf(request).at(-1) === 'And now?');
  expect(next && textsOf(next)).toContain(QUESTION);
});

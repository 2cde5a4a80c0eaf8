import { expect, it } from 'vitest';
import type { Message } from '../../../src/domain/message.ts';
import { isThinkingLoopOpen } from '../../../src/workers/pass-request.ts';
import { decideTurnEnd } from '../../../src/workers/turn/step-decision.ts';
import { FIVE_SEQUENCES, Fixture, ref, words } from './fixture.ts';

const thought = (type = 'thinking') => ({ format: 'anthropic', model: 'm', items: [{ type, thinking: 'hm' }] });
const user: Message = { role: 'user', content: 'go on' };
const call = (id: string, raw?: unknown): Message => ({
  role: 'assistant',
  content: '',
  toolCalls: [{ id, name: 'read', arguments: '{}' }],
  ...(raw === undefined ? {} : { raw }),
});
const result = (toolCallId: string): Message => ({ role: 'tool', content: 'read', toolCallId });

it.each<[string, readonly Message[], boolean]>([
  ['open while results of calls come in', [user, call('a', thought()), result('a')], true],
  ['open from the first call on', [user, call('a', thought())], true],
  ['open if only an earlier step has thinking', [user, call('a', thought()), result('a'), call('b')], true],
  ['open for thinking under each provider’s name', [user, call('a', thought('reasoning')), result('a')], true],
  ['not open without thinking', [user, call('a'), result('a')], false],
  ['not open for raw items without thinking', [user, call('a', thought('text')), result('a')], false],
  [
    'not open after the answer',
    [user, call('a', thought()), result('a'), { role: 'assistant', content: 'So.' }],
    false,
  ],
  ['not open after the next user message', [user, call('a', thought()), result('a'), user], false],
])(
  'isThinkingLoopOpen returns whether the model’s thinking still waits for the model’s final answer: %s',
  (_, messages, isOpen) => {
    expect(isThinkingLoopOpen(messages)).toBe(isOpen);
  },
);

async function openLoop() {
  const world = await Fixture.open();
  await world.append(FIVE_SEQUENCES);
  return world;
}

async function think(world: Fixture) {
  const messages = [{ ...user, content: words(20) }, call('c19_0', thought()), result('c19_0')];
  await world.store.append({
    conversation: ref,
    operation: world.nextId(),
    agent: 'guide',
    expectedHead: 17,
    messages: await Promise.all(messages.map((message) => world.agent.weigh(message))),
    opens: [],
    closes: [],
  });
}

it('while the model thinks between tool calls, a soft compaction pass changes no context, adds no summarization job, and keeps counts and backoff', async () => {
  const world = await openLoop();
  await think(world);
  const before = (await world.db.find(ref))?.backoff;
  await world.request('token_threshold');
  expect(await world.deliver()).toEqual({ status: 'done' });
  expect(world.eventsOf('pass_ended')).toMatchObject([{ outcome: 'thinking', reasons: ['token_threshold'] }]);
  expect(await world.db.find(ref)).toMatchObject({ passed: { head: 0, turns: 0 }, backoff: before });
});

it('a soft compaction pass that stopped because the model was thinking is requested again at the turn’s end, even after a small answer', async () => {
  const world = await openLoop();
  await think(world);
  await world.request('token_threshold');
  await world.deliver();
  await world.append('a20');
  const state = await world.store.readConversation(ref);
  if (state === undefined) throw new Error('no conversation');
  const { reasons, backoff } = decideTurnEnd(world.agent, state);
  expect({ reasons, backoff }).toEqual({ reasons: ['token_threshold'], backoff: undefined });
  await world.request(...reasons);
  await world.runPass('job2');
  expect(await world.readVersion()).toMatchObject({ number: 1, strategy: 'summarize', explained: [] });
});

it('a soft compaction pass that stopped because the model was thinking keeps its summaries for the next pass', async () => {
  const world = await openLoop();
  await world.request('token_threshold');
  for (const child of await world.fanOut()) await world.summarize(child);
  await think(world);
  await world.deliver('job1', true);
  expect(await world.readVersion()).toBeUndefined();
  await world.append('a20');
  await world.request('token_threshold');
  expect(await world.deliver('job2'), 'no job for what was summarized').toEqual({ status: 'done' });
  expect(await world.readVersion()).toMatchObject({ number: 1, strategy: 'summarize', explained: [] });
});

it('a compaction pass compacts while the model thinks between tool calls if a turn starts to wait for the pass at the last moment', async () => {
  let isAsked = false;
  const world: Fixture = await Fixture.open({
    wrap: (ports) => ({
      ...ports,
      passes: {
        ...ports.passes,
        endPass: async (lease, end) => {
          if (!isAsked) await world.request('hard_limit', 'manual');
          isAsked = true;
          return ports.passes.endPass(lease, end);
        },
      },
    }),
  });
  await world.append(FIVE_SEQUENCES);
  await think(world);
  await world.request('token_threshold');
  await world.runPass();
  expect(await world.readVersion()).toMatchObject({
    number: 1,
    reasons: expect.arrayContaining(['manual']) as unknown,
  });
  expect(world.eventsOf('pass_ended')).toMatchObject([{ outcome: 'committed' }]);
});

it('a hard compaction pass compacts while the model thinks between tool calls, because the turn cannot continue without it', async () => {
  const world = await openLoop();
  await think(world);
  await world.request('manual');
  await world.runPass();
  expect(await world.readVersion()).toMatchObject({ number: 1 });
});

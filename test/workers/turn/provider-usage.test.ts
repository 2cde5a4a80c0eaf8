import { expect, it } from 'vitest';
import { TurnfoldError } from '../../../src/domain/errors.ts';
import type { ModelUsage } from '../../../src/domain/model.ts';
import { scriptedModel } from '../../../src/providers/scripted.ts';
import { PICTURE_TOKENS } from '../../../src/wire/tokens/picture-tokens.ts';
import { Fixture, ref } from './fixture.ts';

const WORDS = 3_000;

/** Runs two turns with a provider that returns this token usage. Returns the second request as it was sent. */
async function askTwice(usage: ModelUsage) {
  const world = await Fixture.open({ model: scriptedModel({ decide: () => ({ content: 'there', usage }) }) });
  for (const turn of ['t1', 't2']) {
    await world.accept(turn, 'word '.repeat(WORDS));
    await world.deliver();
    expect(await world.view(turn)).toMatchObject({ state: 'completed' });
  }
  return { world, second: world.eventsOf('model_called')[1] };
}

/**
 * Tokens of a small picture at a provider that counts pictures by size. turnfold counts each picture as a large one.
 */
const SMALL_PICTURE_TOKENS = 85;

it('a provider’s token count is used even if it counts pictures much lower than turnfold does', async () => {
  const pictures = 5;
  const inputTotal = pictures * SMALL_PICTURE_TOKENS + 40;
  const usage = { inputTotal, output: 7, outputKept: 7 };
  const world = await Fixture.open({ model: scriptedModel({ decide: () => ({ content: 'there', usage }) }) });
  const picture = { type: 'image_url', image_url: { url: 'https://pictures.test/icon.png', detail: 'low' } };
  const parts = Array.from({ length: pictures }, () => picture);
  await world.acceptMessage('t1', { role: 'user', content: 'What are these?', parts });
  await world.deliver();
  expect(world.eventsOf('model_called')[0]?.tokens).toBeGreaterThan(pictures * PICTURE_TOKENS);
  expect((await world.db.find(ref))?.size.anchor).toMatchObject({ seq: 2, tokens: inputTotal + 7 });
});

const hole = undefined as unknown as number;
const NO_COUNTS: readonly (readonly [what: string, usage: ModelUsage])[] = [
  ['nothing', { inputTotal: 0, output: 0, outputKept: 0 }],
  ['no input', { inputTotal: hole, output: 7, outputKept: 7 }],
  ['no output', { inputTotal: 3_100, output: hole, outputKept: Number.NaN }],
  ['a text', { inputTotal: '3100' as unknown as number, output: 7, outputKept: 7 }],
  ['all but what it had cached', { inputTotal: 40, output: 7, outputKept: 7 }],
];

it.each(NO_COUNTS)('turnfold uses its own token count if the provider counted %s', async (_, usage) => {
  const { world, second } = await askTwice(usage);
  expect(second?.tokens).toBeGreaterThan(2 * WORDS);
  expect((await world.db.find(ref))?.size.anchor).toBeUndefined();
});

it.each(NO_COUNTS.slice(1, 4))(
  'a provider’s token count of %s is neither reported nor used for calibration',
  async (_, usage) => {
    const { world, second } = await askTwice(usage);
    expect(second).toMatchObject({ outcome: 'answered' });
    expect(second).not.toHaveProperty('inputTokens');
    expect(world.observed).toEqual([]);
  },
);

it('a provider’s token count is used if it is at least half of turnfold’s own count', async () => {
  const { world, second } = await askTwice({ inputTotal: 1_700, output: 7, outputKept: 7 });
  expect(second?.tokens).toBeGreaterThan(1_700 + WORDS);
  expect(second?.tokens).toBeLessThan(1_800 + WORDS);
  // The second count is less than half of turnfold's own, so it is ignored, and the first count stays in use.
  expect((await world.db.find(ref))?.size.anchor).toMatchObject({ seq: 2, tokens: 1_707 });
});

const WINDOW = { windowTokens: 16_000, outputCapTokens: 1_000 };

it('a single provider count of four times the real size is reported, and no turn waits or fails because of it', async () => {
  let calls = 0;
  const model = scriptedModel({
    profile: WINDOW,
    decide: ({ messages }) => {
      calls += 1;
      const counted = messages.length * 600;
      return { content: 'there', usage: { inputTotal: calls === 5 ? counted * 4 : counted, output: 1, outputKept: 1 } };
    },
  });
  const world = await Fixture.open({ model });
  for (let turn = 1; turn <= 9; turn += 1) {
    await world.accept(`t${turn}`, 'word '.repeat(1_200));
    await world.deliver();
    expect(await world.view(`t${turn}`)).toMatchObject({ state: 'completed' });
  }
  expect(world.eventsOf('count_ignored')).toMatchObject([{ turn: 't5', why: 'excess', reportedTokens: 21_600 }]);
  expect(world.passRequests).toEqual([]);
});

it('a provider that cuts long requests without an error makes a turn compact to less than the size that it reads', async () => {
  const READ = 4_096;
  const model = scriptedModel({
    profile: WINDOW,
    decide: ({ messages }) => {
      const inputTotal = Math.min(READ, messages.length * 600);
      return { content: 'there', usage: { inputTotal, output: 1, outputKept: 1 } };
    },
  });
  const world = await Fixture.open({ model });
  for (let turn = 1; turn <= 6; turn += 1) {
    await world.accept(`t${turn}`, 'word '.repeat(1_200));
    await world.deliver();
    expect(await world.view(`t${turn}`)).toMatchObject({ state: 'completed' });
  }
  expect(world.eventsOf('count_ignored')[0]).toMatchObject({ why: 'truncated', reportedTokens: READ });
  expect(world.passRequests[0]).toMatchObject({ reasons: ['overflow'], refusedTokens: READ });
});

it('a turn whose request fits by turnfold’s own count is sent, even if the provider’s count says that it does not fit', async () => {
  const model = scriptedModel({
    profile: WINDOW,
    decide: () => ({ content: 'there', usage: { inputTotal: 15_500, output: 1, outputKept: 1 } }),
  });
  const world = await Fixture.open({ model });
  await world.accept('t1', 'word '.repeat(9_000));
  await world.deliver();
  await world.accept('t2', 'next');
  await world.deliver();
  expect(await world.view('t2'), 'compacts first').toMatchObject({ waiting: { for: 'compaction' } });
  await world.endPass();
  await world.deliver();
  expect(await world.view('t2')).toMatchObject({ state: 'completed' });
});

it('a provider’s count of a request is not compared with a context that a pass replaced before the request was sent', async () => {
  let turn = 0;
  const model = scriptedModel({
    profile: WINDOW,
    decide: ({ messages }) => {
      const inputTotal = messages.reduce((sum, { content }) => sum + 4 + content.trim().split(/\s+/).length, 30);
      return { content: 'there', usage: { inputTotal, output: 1, outputKept: 1 } };
    },
  });
  const world: Fixture = await Fixture.open({
    model,
    system: async () => {
      if (turn === 5) {
        const [passId, wake] = [world.nextId(), world.nextId()];
        await world.store.requestPass({ conversation: ref, reasons: ['manual'], passId, wake });
        await world.endPass(5);
      }
      return 'You guide.';
    },
  });
  for (turn = 1; turn <= 7; turn += 1) {
    await world.accept(`t${turn}`, 'word '.repeat(turn === 5 ? 1_800 : 1_200));
    await world.deliver();
    expect(await world.view(`t${turn}`)).toMatchObject({ state: 'completed' });
  }
  expect(world.eventsOf('count_ignored')).toEqual([]);
  expect(world.passRequests).toEqual([]);
  for (const { providerTokens, counted } of world.observed) expect(providerTokens / counted).toBeGreaterThan(0.9);
});

it('if Redis refuses the wake for a compaction pass, the final answer is still recorded, and the model is called only once', async () => {
  const calls: string[] = [];
  const model = scriptedModel({
    profile: WINDOW,
    decide: ({ messages, idempotencyKey }) => {
      calls.push(idempotencyKey);
      return {
        content: 'there',
        usage: { inputTotal: Math.min(4_096, messages.length * 600), output: 1, outputKept: 1 },
      };
    },
  });
  let refused = 0;
  const world = await Fixture.open({
    model,
    wrap: (ports) => ({
      ...ports,
      wakes: {
        async wake(kind, ...rest) {
          if (kind === 'pass') refused += 1;
          if (kind === 'pass') throw new TurnfoldError('redis_full', 'Redis is full');
          await ports.wakes.wake(kind, ...rest);
        },
      },
    }),
  });
  for (let turn = 1; turn <= 5; turn += 1) {
    await world.accept(`t${turn}`, 'word '.repeat(1_200));
    await world.deliver();
    expect(await world.view(`t${turn}`)).toMatchObject({ state: 'completed' });
  }
  expect(refused).toBeGreaterThan(0);
  expect(calls).toHaveLength(new Set(calls).size);
});

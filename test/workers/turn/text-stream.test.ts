import { expect, it, onTestFinished } from 'vitest';
import { TextAssembler, type TextProgress } from '../../../src/client/text-assembler.ts';
import type { WorkerEvent } from '../../../src/domain/events.ts';
import { nameConversation } from '../../../src/domain/ids.ts';
import { type Model, ModelError } from '../../../src/domain/model.ts';
import type { TextDelta } from '../../../src/domain/ports/text-deltas.ts';
import { modelChain } from '../../../src/models/chain.ts';
import { type ScriptedAnswer, scriptedModel } from '../../../src/models/scripted.ts';
import {
  MAX_IN_FLIGHT,
  PUBLISH_CHARACTERS,
  PUBLISH_EVERY_MS,
  TextStream,
} from '../../../src/workers/turn/text-stream.ts';
import { Fixture, ref } from './fixture.ts';
import { ManualTimers, settleTasks } from './manual-timers.ts';

const lease = { conversation: ref, turn: 't1', owner: 'o', epoch: 7 };

function openStream(publish: () => Promise<void> = async () => undefined) {
  const timers = new ManualTimers();
  const published: TextDelta[] = [];
  const events: WorkerEvent[] = [];
  const publishText = (_: unknown, delta: TextDelta): Promise<void> => {
    published.push(delta);
    return publish();
  };
  const onEvent = (event: WorkerEvent): void => void events.push(event);
  const stream = new TextStream({ texts: { publishText }, timers, lease, step: 2, onEvent });
  onTestFinished(() => expect(timers.pending, 'timers left behind').toBe(0));
  return { stream, timers, published, events, pieces: () => published.map(({ piece }) => piece) };
}

async function* breakOff(): AsyncGenerator<string> {
  yield 'I have deleted the fi';
  throw new ModelError('retry', 'the answer broke off');
}

/** Subscribes to the text deltas of one turn, as a caller does. */
async function listenToTurn(world: Fixture): Promise<TextProgress[]> {
  await world.accept('t1', 'hello');
  await world.deliver();
  const assembler = new TextAssembler('t1');
  for (const delta of world.published) assembler.add(delta);
  return assembler.take();
}

it('a worker publishes a model’s streamed text at once, then every 50 ms, and at its end', async () => {
  const { stream, timers, published, pieces } = openStream();
  stream.add('a');
  expect(pieces()).toEqual(['a']);
  for (const piece of ['b', '', 'c']) stream.add(piece);
  await timers.advance(PUBLISH_EVERY_MS - 1);
  expect(pieces()).toEqual(['a']);
  await timers.advance(1);
  expect(pieces()).toEqual(['a', 'bc']);
  await timers.advance(10 * PUBLISH_EVERY_MS);
  expect(pieces(), 'nothing new, nothing published').toEqual(['a', 'bc']);
  stream.add('d');
  expect(pieces(), 'after a rest at once').toEqual(['a', 'bc', 'd']);
  stream.add('e');
  stream.end();
  stream.end();
  stream.add('too late');
  expect(published).toEqual(
    ['a', 'bc', 'd', 'e'].map((piece, index) => ({
      turn: 't1',
      step: 2,
      epoch: 7,
      offset: [0, 1, 3, 4][index],
      piece,
    })),
  );
});

it('a worker publishes a model’s streamed text without a delay when much text is waiting', () => {
  const { stream, pieces } = openStream();
  stream.add('a');
  stream.add('x'.repeat(PUBLISH_CHARACTERS - 1));
  expect(pieces()).toHaveLength(1);
  stream.add('yz');
  expect(pieces()).toEqual(['a', `${'x'.repeat(PUBLISH_CHARACTERS - 1)}yz`]);
  stream.end();
});

it('a text stream starts again at offset 0 if another model of the chain answers, and drops the first model’s unpublished text', async () => {
  const { stream, timers, published } = openStream();
  stream.add('I have ');
  stream.add('deleted');
  stream.restart();
  stream.add('Nothing');
  await timers.advance(PUBLISH_EVERY_MS);
  stream.end();
  expect(published.map(({ offset, piece }) => [offset, piece])).toEqual([
    [0, 'I have '],
    [0, ''],
    [0, 'Nothing'],
  ]);
});

it('a text stream whose model is replaced publishes no restart if no text was published before or if the stream has ended', () => {
  const { stream, pieces } = openStream();
  stream.restart();
  stream.add('a');
  stream.end();
  stream.restart();
  expect(pieces()).toEqual(['a']);
});

it('streamed text is dropped while Redis does not answer, and the offsets of later text show the gap', async () => {
  const answered = Promise.withResolvers<void>();
  const { stream, timers, published } = openStream(() => answered.promise);
  const tell = async (): Promise<void> => {
    stream.add('x');
    await timers.advance(PUBLISH_EVERY_MS);
  };
  for (let count = 0; count < 2 * MAX_IN_FLIGHT; count += 1) await tell();
  expect(published).toHaveLength(MAX_IN_FLIGHT);
  answered.resolve();
  await settleTasks();
  await tell();
  expect(published.at(-1)).toMatchObject({ offset: 2 * MAX_IN_FLIGHT });
  stream.end();
});

it.each(['before', 'after'])(
  'a text stream publishes no more text after a publication fails %s the end of the text, and reports the failure once',
  async (when) => {
    const error = new Error('NOPERM');
    const { stream, timers, published, events } = openStream(() => Promise.reject(error));
    stream.add('x');
    stream.add('x'.repeat(PUBLISH_CHARACTERS));
    if (when === 'after') stream.end();
    await settleTasks();
    stream.add('y');
    await timers.advance(PUBLISH_EVERY_MS);
    stream.end();
    expect(published).toHaveLength(2);
    expect(events).toEqual([{ type: 'worker_failed', where: 'text', ...nameConversation(ref), turn: 't1', error }]);
  },
);

async function* piecesOf(...pieces: readonly string[]): AsyncGenerator<string> {
  yield* pieces;
}

it('a turn streams the text of each of its model steps', async () => {
  const world = await Fixture.open({
    model: scriptedModel({
      steps: [
        { answer: { content: 'Let me see.', toolCalls: [{ name: 'nothing', arguments: {} }] } },
        { answer: { content: piecesOf('It ', 'is ', 'blue.') } },
      ],
    }),
  });
  await world.accept('t1', 'hello');
  await world.deliver();
  const textOf = (step: number): string =>
    world.published
      .filter((delta) => delta.step === step)
      .map(({ piece }) => piece)
      .join('');
  expect([textOf(1), textOf(2)]).toEqual(['Let me see.', 'It is blue.']);
  expect(new Set(world.published.map(({ turn }) => turn))).toEqual(new Set(['t1']));
  expect(await world.countTimers()).toBe(0);
});

it('a turn is completed even if its streamed text cannot be published', async () => {
  const world = await Fixture.open({
    model: scriptedModel({ decide: () => ({ content: 'It is blue.' }) }),
    wrap: (ports) => ({ ...ports, texts: { publishText: () => Promise.reject(new Error('NOPERM')) } }),
  });
  await world.accept('t1', 'hello');
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({ state: 'completed', answer: { content: 'It is blue.' } });
  expect(world.eventsOf('worker_failed')).toHaveLength(1);
});

it('a turn does not wait for the listeners of its streamed text', async () => {
  const world = await Fixture.open({
    model: scriptedModel({ decide: () => ({ content: 'It is blue.' }) }),
    wrap: (ports) => ({ ...ports, texts: { publishText: () => new Promise<void>(() => undefined) } }),
  });
  await world.accept('t1', 'hello');
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({ state: 'completed' });
});

it('a turn streams the text of a repeated step from its beginning, with a higher epoch', async () => {
  let calls = 0;
  async function* cutOff(): AsyncGenerator<string> {
    yield 'It is bl';
    throw new ModelError('retry', 'cut off');
  }
  const decide = (): ScriptedAnswer => {
    calls += 1;
    return { content: calls === 1 ? cutOff() : piecesOf('It is ', 'red.') };
  };
  const world = await Fixture.open({ model: scriptedModel({ decide }) });
  await world.accept('t1', 'hello');
  await world.deliver();
  world.db.advance(120_000);
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({ state: 'completed', answer: { content: 'It is red.' } });
  const [first, second] = [...new Set(world.published.map(({ epoch }) => epoch))];
  expect(second).toBeGreaterThan(first ?? Number.POSITIVE_INFINITY);
  expect(world.published.map(({ epoch: _, turn: __, ...delta }) => delta)).toEqual([
    { step: 1, offset: 0, piece: 'It is bl' },
    { step: 1, offset: 0, piece: 'It is ' },
    { step: 1, offset: 6, piece: 'red.' },
  ]);
});

it('a turn withdraws a failed model’s streamed text at once, even if the next model of the chain sends no text', async () => {
  const busy = new ModelError('retry', 'busy');
  const first = scriptedModel({ steps: [{ answer: { content: breakOff() } }, { answer: busy }] });
  const call = { name: 'nothing', arguments: {} };
  const second = scriptedModel({
    steps: [{ answer: { content: '', toolCalls: [call] } }, { answer: { content: 'Done.' } }],
  });
  const world = await Fixture.open({ model: modelChain([first, second]) });
  expect(await listenToTurn(world)).toEqual([
    { type: 'text', step: 1, piece: 'I have deleted the fi' },
    { type: 'restart', step: 1 },
    { type: 'text', step: 2, piece: 'Done.' },
  ]);
});

it('a turn withdraws a failed model’s streamed text if another model of the chain answers', async () => {
  const [first, second] = [{ content: breakOff() }, { content: 'Nothing was deleted.' }].map((answer) =>
    scriptedModel({ decide: () => answer }),
  );
  const world = await Fixture.open({ model: modelChain([first as Model, second as Model]) });
  expect(await listenToTurn(world)).toEqual([
    { type: 'text', step: 1, piece: 'I have deleted the fi' },
    { type: 'restart', step: 1 },
    { type: 'text', step: 1, piece: 'Nothing was deleted.' },
  ]);
  expect(world.eventsOf('model_passed_over')).toMatchObject([{ purpose: 'turn', outcome: 'retry' }]);
});

import { expect, it, onTestFinished } from 'vitest';
import { PartAssembler } from '../../../src/api/client/part-assembler.ts';
import type { TurnPart } from '../../../src/api/contract/turn-parts.ts';
import type { WorkerEvent } from '../../../src/domain/events.ts';
import { nameConversation } from '../../../src/domain/ids.ts';
import { type Model, ModelError } from '../../../src/domain/model.ts';
import { modelChain } from '../../../src/providers/chain.ts';
import { type ScriptedAnswer, scriptedModel } from '../../../src/providers/scripted.ts';
import type { NoteBatch, PieceBatch, StreamPiece } from '../../../src/store/stream-entries.ts';
import type { AppendedPieces } from '../../../src/store/streams.ts';
import { ASK_MS, FLUSH_CHARACTERS, FLUSH_MS, PieceStream, RETRY_MS } from '../../../src/workers/turn/piece-stream.ts';
import { Fixture, ref } from './fixture.ts';
import { ManualTimers, settleTasks } from './manual-timers.ts';

const lease = { conversation: ref, turn: 't1', owner: 'o', epoch: 7 };
const APPENDED: AppendedPieces = { status: 'appended' };

function openStream(append: (sent: number) => Promise<AppendedPieces> = async () => APPENDED, isThere = true) {
  const timers = new ManualTimers();
  const batches: PieceBatch[] = [];
  const events: WorkerEvent[] = [];
  const readers = { isThere, questions: 0 };
  const streams = {
    isFollowed: async () => {
      readers.questions += 1;
      return readers.isThere;
    },
    appendPieces: async (_: unknown, batch: PieceBatch | NoteBatch) => {
      batches.push(batch as PieceBatch);
      return await append(batches.length);
    },
  };
  const onEvent = (event: WorkerEvent): void => void events.push(event);
  const turn = new PieceStream({ streams, timers, lease, onEvent });
  const stream = turn.open({ seq: 4, step: 2 });
  onTestFinished(() => {
    void stream.end();
    expect(timers.pending, 'timers left behind').toBe(0);
  });
  const say = async (piece: string): Promise<void> => {
    stream.addText('text', piece);
    await settleTasks();
  };
  return { turn, stream, say, timers, batches, events, readers, sent: () => batches.map(({ pieces }) => pieces) };
}

const text = (value: string, at = 0): StreamPiece => ({ kind: 'text', at, text: value });

it('a worker sends the first piece of text of a followed turn at once, and further pieces every 50 ms', async () => {
  const { say, timers, batches, sent, readers } = openStream();
  await settleTasks();
  await say('a');
  expect(batches).toEqual([{ seq: 4, step: 2, epoch: 7, attempt: 1, pieces: [text('a')] }]);
  await say('b');
  await say('c');
  await timers.advance(FLUSH_MS - 1);
  expect(sent()).toHaveLength(1);
  await timers.advance(1);
  expect(sent().at(-1)).toEqual([text('bc', 1)]);
  await timers.advance(10 * FLUSH_MS);
  expect(sent(), 'nothing new, nothing sent').toHaveLength(2);
  await say('d');
  expect(sent().at(-1), 'after a rest at once').toEqual([text('d', 3)]);
  expect(readers.questions, 'asked once, before the first piece').toBe(1);
});

it('a worker sends pieces of reasoning, text and tool calls with the place of each piece', async () => {
  const { stream, timers, sent } = openStream();
  stream.addText('reasoning', 'hm');
  await settleTasks();
  stream.addText('text', 'Look');
  stream.addCall({ call: 0, arguments: 'before its name' });
  stream.addCall({ call: 0, name: 'look', arguments: '{"a":' });
  await timers.advance(FLUSH_MS);
  stream.addCall({ call: 0, name: 'look', arguments: '1}' });
  stream.addCall({ call: 1, name: 'find' });
  await timers.advance(FLUSH_MS);
  expect(sent()).toEqual([
    [{ kind: 'reasoning', at: 0, text: 'hm' }],
    [text('Look'), { kind: 'call', call: 0, name: 'look' }, { kind: 'arguments', call: 0, at: 0, text: '{"a":' }],
    [
      { kind: 'arguments', call: 0, at: 5, text: '1}' },
      { kind: 'call', call: 1, name: 'find' },
    ],
  ]);
});

it('a worker sends a large amount of text without a delay, in batches of limited size', async () => {
  const { say, sent } = openStream();
  await say('a');
  await say('x'.repeat(FLUSH_CHARACTERS + 5));
  expect(sent().slice(1)).toEqual([[text('x'.repeat(FLUSH_CHARACTERS), 1)]]);
});

it('a worker never splits a character between two batches', async () => {
  const { say, timers, sent } = openStream();
  await say('a\ud83d');
  await say('\ude00');
  await timers.advance(FLUSH_MS);
  expect(sent()).toEqual([[text('a')], [text('😀', 1)]]);
});

it('a worker holds the text of a turn without readers, and sends all of it once a reader follows', async () => {
  const { say, timers, sent, readers } = openStream(undefined, false);
  await settleTasks();
  for (const piece of ['It ', 'is ']) await say(piece);
  await timers.advance(ASK_MS - 1);
  expect(readers.questions, 'at the start and at the first piece').toBe(2);
  await timers.advance(1);
  expect(readers.questions).toBe(3);
  readers.isThere = true;
  await say('blue.');
  await timers.advance(ASK_MS);
  expect(sent()).toEqual([[text('It is blue.')]]);
});

it('a worker does not check for readers more often because much text is waiting', async () => {
  const { say, readers } = openStream(undefined, false);
  await settleTasks();
  for (let count = 0; count < 10; count += 1) await say('x'.repeat(FLUSH_CHARACTERS));
  expect(readers.questions, 'at the start and at the first piece').toBe(2);
});

it('the first piece of text waits for the reply to the first check for readers', async () => {
  const { say, sent, readers } = openStream();
  await say('a');
  expect([readers.questions, sent()]).toEqual([1, [[text('a')]]]);
});

it('a worker has only one batch of text in flight, so that a slow Redis gets larger batches', async () => {
  const answers = Array.from({ length: 2 }, () => Promise.withResolvers<AppendedPieces>());
  const { say, timers, sent } = openStream((count) => answers[count - 1]?.promise ?? Promise.resolve(APPENDED));
  await say('a');
  for (const piece of ['b', 'c', 'd']) {
    await say(piece);
    await timers.advance(FLUSH_MS);
  }
  expect(sent()).toEqual([[text('a')]]);
  answers[0]?.resolve(APPENDED);
  await settleTasks();
  await timers.advance(FLUSH_MS);
  expect(sent().at(-1)).toEqual([text('bcd', 1)]);
  answers[1]?.resolve(APPENDED);
  await settleTasks();
});

it('a worker sends a batch of text again that Redis refused, and reports only the first failure of a turn', async () => {
  const error = new Error('OOM');
  const { say, timers, sent, events } = openStream((count) =>
    count <= 2 ? Promise.reject(error) : Promise.resolve(APPENDED),
  );
  await say('a');
  await say('b');
  await timers.advance(RETRY_MS);
  await timers.advance(RETRY_MS);
  expect(sent()).toEqual([[text('a')], [text('ab')], [text('ab')]]);
  expect(events).toEqual([{ type: 'worker_failed', where: 'stream', ...nameConversation(ref), turn: 't1', error }]);
});

it('a worker sends no more text once another worker owns the turn', async () => {
  const { say, timers, sent } = openStream(async () => ({ status: 'fenced' }));
  await say('a');
  await say('b');
  await timers.advance(10 * FLUSH_MS);
  expect(sent()).toHaveLength(1);
});

it('a worker sends no more text after the end of the model call, even if the model still writes', async () => {
  const { stream, say, timers, sent } = openStream();
  await say('a');
  await say('b');
  await stream.end();
  await say('too late');
  await timers.advance(10 * FLUSH_MS);
  expect(sent()).toEqual([[text('a')]]);
});

it('a worker sends the rest of the reasoning at the end of the model call, because the log does not keep reasoning', async () => {
  const { stream, timers, sent } = openStream();
  stream.addText('reasoning', 'hm');
  stream.addText('reasoning', ', so');
  await stream.end();
  expect(sent().flat()).toEqual([{ kind: 'reasoning', at: 0, text: 'hm, so' }]);
  await timers.advance(10 * FLUSH_MS);
  expect(sent()).toHaveLength(1);
});

it('a worker sends the rest of the reasoning at the end of the model call, even if it fills several batches', async () => {
  const { stream, sent } = openStream();
  stream.addText('reasoning', 'x'.repeat(3 * FLUSH_CHARACTERS));
  await stream.end();
  expect(
    sent()
      .flat()
      .map((piece) => ('at' in piece ? piece.at : undefined)),
  ).toEqual([0, 16_384, 32_768]);
});

it('the end of a model call waits at most 50 ms for a slow Redis to take the rest of the reasoning', async () => {
  const reply = Promise.withResolvers<AppendedPieces>();
  const { stream, timers, sent } = openStream(() => reply.promise);
  stream.addText('reasoning', 'hm');
  let isOver = false;
  const end = async (): Promise<void> => {
    await stream.end();
    isOver = true;
  };
  const ended = end();
  await settleTasks();
  await timers.advance(FLUSH_MS - 1);
  expect([sent().length, isOver]).toEqual([1, false]);
  await timers.advance(1);
  await ended;
  reply.resolve(APPENDED);
});

it('the end of a model call without followers does not wait', async () => {
  const { stream, say, timers, sent } = openStream(undefined, false);
  await settleTasks();
  await say('a');
  stream.addText('reasoning', 'hm');
  const ended = stream.end();
  expect(timers.pending, 'no wait').toBe(0);
  await ended;
  expect(sent()).toEqual([]);
});

it('the next model call counts its pieces of text from 0, under the next attempt number', async () => {
  const { turn, stream, say, batches } = openStream();
  await say('I have ');
  await stream.end();
  const next = turn.open({ seq: 4, step: 2 });
  next.addText('text', 'Nothing');
  await settleTasks();
  await next.end();
  expect(batches.map(({ attempt, pieces }) => [attempt, pieces])).toEqual([
    [1, [text('I have ')]],
    [2, [text('Nothing')]],
  ]);
});

async function* breakOff(): AsyncGenerator<string> {
  yield 'I have deleted the fi';
  await settleTasks();
  throw new ModelError('retry', 'the answer broke off');
}

async function* piecesOf(...pieces: readonly string[]): AsyncGenerator<string> {
  for (const piece of pieces) {
    yield piece;
    await settleTasks();
  }
}

/** Delivers a turn, and reads it after each batch of pieces and at its end, as a client does. */
async function readTurn(world: Fixture): Promise<Omit<TurnPart, 'id'>[]> {
  await world.accept('t1', 'hello');
  await world.store.followTurn(ref, 't1');
  const assembler = new PartAssembler();
  const parts: TurnPart[] = [];
  const read = async (): Promise<void> => {
    const page = await world.store.readStream({ conversation: ref, turn: 't1', ...assembler.place });
    if (page !== undefined) parts.push(...assembler.read(page).parts);
  };
  const { promise: isSubscribed, resolve: subscribe } = Promise.withResolvers<void>();
  // A read begins where the one before it has ended.
  let reads = Promise.resolve();
  const stop = world.store.listen(ref, 't1', () => {
    reads = reads.then(read);
    subscribe();
  });
  await isSubscribed;
  await world.deliver();
  stop();
  await reads;
  await read();
  return [...parts, ...assembler.end()].map(({ id: _, ...part }) => part);
}

it('a turn streams what its models write, and completes each step from the log', async () => {
  const world = await Fixture.open({
    model: scriptedModel({
      steps: [
        { answer: { reasoning: 'hm', content: 'Let me see.', toolCalls: [{ name: 'nothing', arguments: {} }] } },
        { answer: { content: piecesOf('It ', 'is ', 'blue.') } },
      ],
    }),
  });
  const parts = await readTurn(world);
  const textOf = (number: number): string =>
    parts
      .map((part) =>
        'piece' in part && 'step' in part && part.step === number && part.type === 'text' ? part.piece : '',
      )
      .join('');
  expect([textOf(1), textOf(2)]).toEqual(['Let me see.', 'It is blue.']);
  expect(parts).toContainEqual({ type: 'tool-call', step: 1, call: 'c2_0', name: 'nothing', arguments: '{}' });
  expect(parts.map(({ type }) => type)).toContain('tool-result');
  expect(world.batches.map(({ seq, step }) => [seq, step])).toContainEqual([4, 2]);
  expect(await world.countTimers()).toBe(0);
});

it('a turn without readers sends no text to Redis', async () => {
  const world = await Fixture.open({ model: scriptedModel({ decide: () => ({ content: piecesOf('It ', 'is.') }) }) });
  await world.accept('t1', 'hello');
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({ state: 'completed', answer: { content: 'It is.' } });
  expect(world.batches).toEqual([]);
});

it.each([
  ['refuses pieces', () => Promise.reject(new Error('NOPERM'))],
  ['does not answer', () => new Promise<never>(() => undefined)],
] as const)('a turn is completed even if Redis %s', async (_, answer) => {
  const world = await Fixture.open({
    model: scriptedModel({ decide: () => ({ content: 'It is blue.' }) }),
    wrap: (ports) => ({ ...ports, streams: { ...ports.streams, isFollowed: async () => true, appendPieces: answer } }),
  });
  await world.accept('t1', 'hello');
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({ state: 'completed', answer: { content: 'It is blue.' } });
});

it('a worker streams a repeated step from its beginning, under a higher epoch', async () => {
  let calls = 0;
  const decide = (): ScriptedAnswer => {
    calls += 1;
    return { content: calls === 1 ? breakOff() : piecesOf('It is ', 'red.') };
  };
  const world = await Fixture.open({ model: scriptedModel({ decide }) });
  expect(await readTurn(world)).toMatchObject([{ type: 'text', piece: 'I have deleted the fi' }, { type: 'restart' }]);
  world.db.advance(120_000);
  await world.deliver();
  expect(await world.view('t1')).toMatchObject({ state: 'completed', answer: { content: 'It is red.' } });
  const [first, second] = [...new Set(world.batches.map(({ epoch }) => epoch))];
  expect(second).toBeGreaterThan(first ?? Number.POSITIVE_INFINITY);
  expect(world.batches[1]).toMatchObject({ seq: 2, step: 1, attempt: 1, pieces: [text('It is ')] });
});

it('a reader drops a failed model’s text if another model of the chain answers without text', async () => {
  const busy = new ModelError('retry', 'busy');
  const first = scriptedModel({ steps: [{ answer: { content: breakOff() } }, { answer: busy }] });
  const call = { name: 'nothing', arguments: {} };
  const second = scriptedModel({
    steps: [{ answer: { content: '', toolCalls: [call] } }, { answer: { content: 'Done.' } }],
  });
  const world = await Fixture.open({ model: modelChain([first, second]) });
  const parts = (await readTurn(world)).filter(({ type }) => !type.startsWith('tool-call-'));
  expect(parts).toMatchObject([
    { type: 'text', step: 1, piece: 'I have deleted the fi' },
    { type: 'restart', step: 1 },
    { type: 'tool-call', step: 1 },
    { type: 'tool-result', step: 1 },
    { type: 'text', step: 2, piece: 'Done.' },
  ]);
});

it('a reader drops a failed model’s text if another model of the chain writes another text', async () => {
  const [first, second] = [{ content: breakOff() }, { content: 'Nothing was deleted.' }].map((answer) =>
    scriptedModel({ decide: () => answer }),
  );
  const world = await Fixture.open({ model: modelChain([first as Model, second as Model]) });
  const parts = await readTurn(world);
  expect(parts.slice(0, 2)).toMatchObject([
    { type: 'text', piece: 'I have deleted the fi' },
    { type: 'restart', step: 1 },
  ]);
  const rest = parts.slice(2).map((part) => ('piece' in part ? part.piece : ''));
  expect(rest.join('')).toBe('Nothing was deleted.');
  expect(world.eventsOf('model_passed_over')).toMatchObject([{ purpose: 'turn', outcome: 'retry' }]);
});

import { expect, it } from 'vitest';
import type { NoteBatch } from '../../../src/store/stream-entries.ts';
import { CallNotes, NOTES_MS } from '../../../src/workers/turn/call-notes.ts';
import { ASK_MS, FLUSH_MS } from '../../../src/workers/turn/piece-stream.ts';
import { ManualTimers, settleTasks } from './manual-timers.ts';

function openRound() {
  const timers = new ManualTimers();
  const sent: NoteBatch['notes'][] = [];
  const state: { pauseMs: number | undefined } = { pauseMs: FLUSH_MS };
  const sendNotes = async ({ notes }: NoteBatch, markSent: () => void): Promise<number | undefined> => {
    sent.push(notes);
    if (state.pauseMs === FLUSH_MS) markSent();
    return state.pauseMs;
  };
  const round = new CallNotes({ timers, sendNotes }, { step: 1, calls: 2 });
  return { round, timers, sent, state };
}

const progress = (text: string, call = 'c2_0') => ({ call, progress: { text } });

it('a tool that reports a thousand times a second is shown at once, then ten times a second with its last report', async () => {
  const { round, timers, sent } = openRound();
  const call = round.open('c2_0');
  call.progress('0');
  await settleTasks();
  for (let count = 1; count <= 1_000; count += 1) call.progress(String(count));
  await timers.advance(NOTES_MS - 1);
  expect(sent).toEqual([[progress('0')]]);
  await timers.advance(1);
  expect(sent.slice(1)).toEqual([[progress('1000')]]);
  await timers.advance(10 * NOTES_MS);
  expect(sent, 'nothing new, nothing sent').toHaveLength(2);
  round.close();
  expect(timers.pending).toBe(0);
});

it('reports of the calls of a round share batches, and those of an ended call are dropped', async () => {
  const { round, timers, sent } = openRound();
  const [one, two] = [round.open('c2_0'), round.open('c2_1')];
  one.progress('a');
  await settleTasks();
  one.emit('chart', [1]);
  one.emit('chart', [2], 'other');
  two.progress('b');
  one.end();
  one.progress('late');
  one.emit('chart', [3]);
  await timers.advance(NOTES_MS);
  expect(sent).toEqual([[progress('a')], [progress('b', 'c2_1')]]);
  expect(one.values).toEqual([
    { name: 'chart', data: [1] },
    { name: 'chart', key: 'other', data: [2] },
  ]);
  round.close();
});

it('a report waits for a reader, and nothing is sent once the worker has lost the turn', async () => {
  const { round, timers, sent, state } = openRound();
  const call = round.open('c2_0');
  state.pauseMs = ASK_MS;
  call.progress('a');
  await settleTasks();
  await timers.advance(ASK_MS);
  expect(sent, 'asked again').toEqual([[progress('a')], [progress('a')]]);
  state.pauseMs = undefined;
  await timers.advance(ASK_MS);
  call.progress('b');
  await timers.advance(10 * ASK_MS);
  expect(sent).toHaveLength(3);
  expect(timers.pending).toBe(0);
});

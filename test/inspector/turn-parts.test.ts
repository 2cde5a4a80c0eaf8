import { expect, test } from 'vitest';
import { addPart, type ShownItem, type TurnPart } from '../../inspector/src/turn/turn-parts.ts';
import type { Waiting } from '../../src/domain/turn.ts';

function show(parts: readonly TurnPart[]): readonly ShownItem[] {
  return parts.reduce(addPart, [] as readonly ShownItem[]);
}

const call = { type: 'tool-call', step: 1, call: 'c2_0', name: 'look', arguments: '{"id":1}' } as const;

test('the shown step joins its pieces, and replaces the preview of a call by the recorded call', () => {
  const items = show([
    { type: 'reasoning', step: 1, piece: 'Hm.' },
    { type: 'text', step: 1, piece: 'Let me ' },
    { type: 'text', step: 1, piece: 'look.' },
    { type: 'tool-call-start', step: 1, call: 'c2_0', name: 'look' },
    { type: 'tool-call-arguments', step: 1, call: 'c2_0', piece: '{"i' },
    call,
    { type: 'tool-result', step: 1, call: 'c2_0', content: 'seen', isError: false },
    { type: 'text', step: 2, piece: 'Done.' },
  ]);
  const result = { content: 'seen', isError: false };
  expect(items).toEqual([
    {
      kind: 'step',
      step: 1,
      text: 'Let me look.',
      reasoning: 'Hm.',
      calls: [{ call: 'c2_0', name: 'look', arguments: '{"id":1}', isPreview: false, result }],
    },
    { kind: 'step', step: 2, text: 'Done.', reasoning: '', calls: [] },
  ]);
});

test('a restart part discards the shown text of its step and of later steps', () => {
  const items = show([
    { type: 'text', step: 1, piece: 'one' },
    { type: 'text', step: 2, piece: 'tw' },
    { type: 'restart', step: 2 },
    { type: 'text', step: 2, piece: 'two' },
  ]);
  expect(items.map((item) => (item.kind === 'step' ? item.text : item.kind))).toEqual(['one', 'two']);
});

test('a wait that is sent again replaces the shown wait, and a different wait is added', () => {
  const waiting: Waiting = { for: 'approval', step: '1', since: 5, until: 9, calls: [] };
  const items = show([
    { type: 'wait', waiting },
    { type: 'wait', waiting },
    { type: 'wait', waiting: { ...waiting, since: 7 } },
  ]);
  expect(items.length).toBe(2);
});

test('a running call shows its last progress, which its result removes', () => {
  const progress = { type: 'progress', step: 1, call: 'c2_0' } as const;
  const running = [call, { ...progress, text: 'one' }, { ...progress, text: 'two', done: 2, total: 3 }] as const;
  expect(show(running)).toMatchObject([{ calls: [{ progress: { text: 'two', done: 2, total: 3 } }] }]);
  const result = { type: 'tool-result', step: 1, call: 'c2_0', content: 'seen', isError: false } as const;
  expect(show([...running, result])).toMatchObject([{ calls: [{ result: { content: 'seen' } }] }]);
  expect(show([...running, result])).not.toMatchObject([{ calls: [{ progress: { text: 'two' } }] }]);
});

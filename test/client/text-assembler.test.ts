import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { TextAssembler, type TextProgress } from '../../src/client/text-assembler.ts';
import type { TextDelta } from '../../src/domain/ports/text-deltas.ts';

function delta(change: Partial<TextDelta>): TextDelta {
  return { turn: 't1', step: 1, epoch: 1, offset: 0, piece: 'x', ...change };
}

function partsOf(...deltas: readonly Partial<TextDelta>[]): TextProgress[] {
  const assembler = new TextAssembler('t1');
  for (const change of deltas) assembler.add(delta(change));
  return assembler.take();
}

describe('text assembled from deltas', () => {
  test('the assembler of streamed text joins the pieces of one step and separates steps', () => {
    const deltas = [{ piece: 'ab' }, { offset: 2, piece: 'c' }, { step: 2, piece: 'd' }];
    expect(partsOf(...deltas)).toEqual([
      { type: 'text', step: 1, piece: 'abc' },
      { type: 'text', step: 2, piece: 'd' },
    ]);
  });

  test('the assembler of streamed text reports gaps at the start, in between and in a later step', () => {
    const deltas = [
      { offset: 5, piece: 'ab' },
      { offset: 8, piece: 'c' },
      { step: 2, offset: 1, piece: 'd' },
    ];
    expect(partsOf(...deltas).map(({ type, step }) => `${type} ${step}`)).toEqual([
      'lost 1',
      'text 1',
      'lost 1',
      'text 1',
      'lost 2',
      'text 2',
    ]);
  });

  test('the assembler of streamed text restarts when another worker owns the turn or a step repeats, and ignores the earlier worker', () => {
    const again = { type: 'restart', step: 1 };
    const said = (piece: string): unknown => ({ type: 'text', step: 1, piece });
    const deltas = [{ piece: 'ab' }, { epoch: 2, piece: 'c' }, { offset: 2, piece: 'old' }];
    expect(partsOf(...deltas)).toEqual([said('ab'), again, said('c')]);
    expect(partsOf({ piece: 'ab' }, { piece: 'c' })).toEqual([said('ab'), again, said('c')]);
  });

  test('the assembler of streamed text restarts and reports a gap if the start of the new text was lost', () => {
    expect(partsOf({ piece: 'ab' }, { epoch: 2, offset: 2, piece: 'c' })).toEqual([
      { type: 'text', step: 1, piece: 'ab' },
      { type: 'restart', step: 1 },
      { type: 'lost', step: 1 },
      { type: 'text', step: 1, piece: 'c' },
    ]);
  });

  test('the assembler of streamed text restarts once if the first piece of the repeated text is empty', () => {
    const again = { type: 'restart', step: 1 };
    const said = (piece: string): unknown => ({ type: 'text', step: 1, piece });
    const taken = [{ piece: 'ab' }, { piece: '' }];
    expect(partsOf(...taken)).toEqual([said('ab'), again]);
    expect(partsOf(...taken, { piece: 'c' })).toEqual([said('ab'), again, said('c')]);
    expect(partsOf({ piece: '' }, { piece: 'c' }), 'no text was received before').toEqual([said('c')]);
  });

  test('the assembler of streamed text ignores pieces of other turns and of finished steps', () => {
    expect(partsOf({ turn: 't2' }, { step: 2 }, { step: 1, offset: 0 })).toEqual([
      { type: 'text', step: 2, piece: 'x' },
    ]);
  });

  test('the assembler of streamed text keeps unread text up to a limit, and reports a gap for the rest', () => {
    const assembler = new TextAssembler('t1');
    const piece = 'x'.repeat(300_000);
    for (let count = 0; count < 20; count += 1) assembler.add(delta({ offset: count * piece.length, piece }));
    const [first, ...others] = assembler.take();
    expect(others).toEqual([]);
    expect(first?.type === 'text' && first.piece.length).toBe(4 * piece.length);
    assembler.add(delta({ offset: 20 * piece.length, piece: 'end' }));
    expect(assembler.take()).toEqual([
      { type: 'lost', step: 1 },
      { type: 'text', step: 1, piece: 'end' },
    ]);
  });
});

/** Deltas of every attempt at each step in the order of publication, and which of them are lost. */
const publications = fc
  .array(
    fc.record({
      tries: fc.array(fc.array(fc.string({ minLength: 1, maxLength: 4 }), { maxLength: 5 }), {
        minLength: 1,
        maxLength: 3,
      }),
    }),
    { minLength: 1, maxLength: 3 },
  )
  .chain((steps) => {
    let epoch = 0;
    const deltas = steps.flatMap(({ tries }, index) =>
      tries.flatMap((pieces) => {
        epoch += 1;
        let offset = 0;
        return pieces.map((piece) => {
          const one = delta({ step: index + 1, epoch, offset, piece });
          offset += piece.length;
          return one;
        });
      }),
    );
    const isLost = fc.array(fc.boolean(), { minLength: deltas.length, maxLength: deltas.length });
    return fc.record({ deltas: fc.constant(deltas), isLost, taken: fc.array(fc.nat(deltas.length)) });
  });

/** Text of a step since its last restart, and whether pieces are missing. */
function show(parts: readonly TextProgress[]): Map<number, { text: string; hasGaps: boolean }> {
  const shown = new Map<number, { text: string; hasGaps: boolean }>();
  for (const part of parts) {
    const { text = '', hasGaps = false } = part.type === 'restart' ? {} : (shown.get(part.step) ?? {});
    shown.set(part.step, {
      text: part.type === 'text' ? text + part.piece : text,
      hasGaps: hasGaps || part.type === 'lost',
    });
  }
  return shown;
}

test('the assembler of streamed text returns the newest text of each step or reports a gap, whatever pieces are lost', () => {
  fc.assert(
    fc.property(publications, ({ deltas, isLost, taken }) => {
      const assembler = new TextAssembler('t1');
      const parts: TextProgress[] = [];
      const arrived = deltas.filter((_, index) => !isLost[index]);
      for (const [index, one] of arrived.entries()) {
        assembler.add(one);
        if (taken.includes(index)) parts.push(...assembler.take());
      }
      parts.push(...assembler.take());
      const shown = show(parts);
      for (const step of new Set(arrived.map((one) => one.step))) {
        const ofStep = arrived.filter((one) => one.step === step);
        const newest = ofStep.filter(({ epoch }) => epoch === ofStep.at(-1)?.epoch);
        const whole = deltas.filter(({ epoch }) => epoch === newest[0]?.epoch);
        const { text, hasGaps } = shown.get(step) ?? { text: undefined, hasGaps: false };
        expect(text).toBe(newest.map(({ piece }) => piece).join(''));
        expect(hasGaps).toBe(newest.some((one, at) => one !== whole[at]));
      }
    }),
    { numRuns: 2_000 },
  );
});

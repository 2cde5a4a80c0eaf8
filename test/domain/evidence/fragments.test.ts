import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { partTexts, renderCall, splitFragments } from '../../../src/compaction/evidence/fragments.ts';
import { callTools, toolResult, user } from '../messages.ts';

function piecesOf(text: string): string[] {
  return [...splitFragments(text)].map(([start, end]) => text.slice(start, end));
}

describe('partTexts, which lists the texts of a message', () => {
  test('each text of a message names the part that it comes from: user, statement, call or result', () => {
    expect(partTexts(user('hello'))).toEqual([{ part: 'user', text: 'hello' }]);
    expect(partTexts({ role: 'system', content: 'be brief' })).toEqual([{ part: 'user', text: 'be brief' }]);
    expect(partTexts({ role: 'summary', content: 'so far' })).toEqual([{ part: 'statement', text: 'so far' }]);
    expect(partTexts(toolResult('c1_0', 'done'))).toEqual([{ part: 'result', text: 'done' }]);
    expect(partTexts({ ...callTools('c1_0', 'c1_1'), content: 'I read.' }).map(({ part }) => part)).toEqual([
      'statement',
      'call',
      'call',
    ]);
  });

  test('the texts of a message leave out an empty text', () => {
    expect(partTexts(user(''))).toEqual([]);
    expect(partTexts(callTools('c1_0')).map(({ part }) => part)).toEqual(['call']);
  });
});

describe('the text of a call', () => {
  const describeArguments = (text: string): string => renderCall({ id: 'c1_0', name: 'edit', arguments: text });

  test('the text of a tool call names each value by its key, or by the key of the list or object that contains it', () => {
    const values = { path: 'a.ts', lines: [3, 4], to: { mode: 'all', deep: [{ on: true }] }, none: null };
    expect(describeArguments(JSON.stringify(values))).toBe('edit path: a.ts, lines: 3, lines: 4, mode: all, on: true');
  });

  test('the text of a tool call shows a bare value or arguments that are not JSON unchanged', () => {
    expect(describeArguments('"ls -l"')).toBe('edit ls -l');
    expect(describeArguments('{"path": "a')).toBe('edit {"path": "a');
  });

  test('the text of a tool call shows arguments unchanged if they are nested too deeply to be parsed', () => {
    const nest = (depth: number): string => `${'['.repeat(depth)}17${']'.repeat(depth)}`;
    expect(describeArguments(nest(200))).toBe('edit 17');
    expect(describeArguments(nest(200_000))).toBe(`edit ${nest(200_000)}`);
  });
});

describe('fragments (pieces of a text, mostly lines)', () => {
  test('a text is split into one fragment per line, without the empty lines', () => {
    expect(piecesOf('one\n\ntwo\n')).toEqual(['one', 'two']);
  });

  test('a line of more than 240 characters is split into fragments after a space or a comma', () => {
    const line = Array.from({ length: 80 }, (_, index) => `word${index}`).join(', ');
    for (const piece of piecesOf(line).slice(0, -1)) expect(piece).toMatch(/[ ,]$/);
  });

  test('no fragment starts or ends inside a surrogate pair', () => {
    for (const piece of piecesOf(`a${'🚀'.repeat(400)}`)) expect(piece.isWellFormed()).toBe(true);
  });

  test('the fragments of a text contain every character except line ends, in order, with at most 240 characters in each', () => {
    const text = fc.array(fc.oneof(fc.constant('\n'), fc.string({ unit: 'grapheme', maxLength: 400 })));
    fc.assert(
      fc.property(text, (texts) => {
        const pieces = piecesOf(texts.join(''));
        expect(pieces.join('')).toBe(texts.join('').replaceAll('\n', ''));
        for (const piece of pieces) expect(piece.length).toBeLessThanOrEqual(240);
      }),
    );
  });
});

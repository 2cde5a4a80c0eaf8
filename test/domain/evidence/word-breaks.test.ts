import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { breakAfter, breakBefore } from '../../../src/compaction/evidence/word-breaks.ts';

/** Marks each place between words. */
function divide(text: string): string {
  let divided = '';
  for (let at = 0; at < text.length; at += 1) divided += (breakBefore(text, at) === at ? '|' : '') + text.charAt(at);
  return divided;
}

describe('the places where a text may be cut', () => {
  test('Chinese and Japanese words are not cut, although no blanks separate them', () => {
    expect(divide('北京的天安门广场')).toBe('|北京|的|天安门|广场');
    expect(divide('電話番号と住所')).toBe('|電話|番号|と|住所');
  });

  test('a Korean word is not cut from its particle, nor a German compound in its middle', () => {
    expect(divide('주문서를 확인')).toBe('|주문서를| |확인');
    expect(divide('die Lieferadressänderung „neu“')).toBe('|die| |Lieferadressänderung| |„|neu|“');
  });

  test('names, numbers and dates are not cut at the characters that join them', () => {
    expect(divide('in src/a_b.ts:42 am 2024-05-01')).toBe('|in| |src/a_b.ts:42| |am| |2024-05-01');
    expect(divide("don't (stop)")).toBe("|don't| |(|stop|)");
    expect(divide('１２３４円')).toBe('|１２３４|円');
  });

  test('an emoji of several parts, a letter with an accent and a surrogate pair are not cut', () => {
    expect(divide('ok👩‍👩‍👧!')).toBe('|ok|👩‍👩‍👧|!');
    expect(divide('cafe\u0301 𠮷野家')).toBe('|cafe\u0301| |𠮷|野家');
  });

  test('a place inside a word gives the bounds of the word', () => {
    const text = '¿Dónde está la dirección?';
    expect([breakBefore(text, 4), breakAfter(text, 4)]).toEqual([1, 6]);
    expect(text.slice(breakAfter(text, 17))).toBe('?');
  });

  test('a name of more than 64 characters is cut, so that a cut always keeps something', () => {
    expect(breakBefore('x'.repeat(200), 100)).toBe(100);
  });

  test('a cut at any place of any text splits no grapheme, and moves by at most 64 characters', () => {
    const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
    const pieces = fc.constantFrom(
      '天',
      '安',
      'の',
      'カ',
      '한',
      'ก',
      'e\u0301',
      '(\u0301',
      ' \u0301',
      '👩‍👧',
      '🚀',
      '𠮷',
      'ab',
      '-',
      '1',
      ' ',
      '。',
      '¿',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 40 }), fc.nat(120), (parts, place) => {
        const text = parts.join('');
        const starts = new Set([...graphemes.segment(text)].map(({ index }) => index)).add(text.length);
        const at = Math.min(place, text.length);
        const [before, after] = [breakBefore(text, at), breakAfter(text, at)];
        expect(before).toBeLessThanOrEqual(at);
        expect(after).toBeGreaterThanOrEqual(at);
        expect(after - before).toBeLessThanOrEqual(128);
        expect([...starts]).toEqual(expect.arrayContaining([before, after]));
      }),
    );
  });
});
